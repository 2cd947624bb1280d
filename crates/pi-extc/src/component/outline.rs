//! What a component is called by and how much there is to compile in it, read before anybody compiles it.
//!
//! A compiler cannot be stopped, and works longer the larger a function is and the more values live through it. So what is far
//! larger than anything that compilers make is not given to it.

use std::{mem, ops::AddAssign};

use wasmparser::{
    BinaryReaderError, BlockType, CompositeInnerType, FunctionBody, ImportSectionReader, Operator, Parser, Payload,
    TypeRef, TypeSectionReader,
};

/// Most of everything that is compiled: several times of what is largest in components with a whole interpreter for Python or
/// JavaScript in them (18 MB; 20 000 functions, of which one has 430 kB, and one 480 locals).
const BYTES: u64 = 64 << 20;
const FUNCTIONS: u64 = 100_000;
const BODY: u64 = 1 << 20;
const LOCALS: u64 = 5000;
/// Values that the compiler has to follow: the bytes of a function times its locals, parameters among them. One interpreter has 23 million in a
/// function, another 200 million in all of them; a component in Rust that is not optimised has 603 million in one function, of
/// 165 kB and 3643 locals, and 662 million in all.
const FOLLOWED: u64 = 1_000_000_000;
const FOLLOWED_IN_ALL: u64 = 1_500_000_000;
/// Values that the compiler has to bring together in a function: at the end of a block, or the beginning of a loop, one for each
/// local that is set inside and for each that the block itself takes or gives; and how often it has to carry one there, once for
/// each way, or to a function that is called and back. Some kilobytes can ask for as many as there are blocks times locals, and
/// each that is really there takes 1.5 kB of memory while the function is compiled. A component in Rust that is not optimised
/// could have 977 000 in one function, carried 2.2 million times.
const MERGED: u64 = 2_000_000;
const CARRIED: u64 = 16_000_000;

/// What is known of a component.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outline {
    pub imports: Vec<String>,
    pub exports: Vec<String>,
}

/// Why a component is not given to a compiler.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutlineFault {
    #[error("it is not valid: {problem}")]
    Invalid { problem: String },
    #[error(transparent)]
    Excess(#[from] Excess),
}

/// Which limit a component goes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Excess {
    #[error("it has {found} bytes, of which at most {BYTES} are compiled")]
    Bytes { found: u64 },
    #[error("it has {found} functions, of which at most {FUNCTIONS} are compiled")]
    Functions { found: u64 },
    #[error("one of its functions has {found} bytes; at most {BODY} are compiled")]
    Body { found: u64 },
    #[error("one of its functions has {found} local variables; at most {LOCALS} are compiled")]
    Locals { found: u64 },
    #[error(
        "one of its functions has {locals} local variables in {bytes} bytes, which is too much to compile together"
    )]
    Followed { locals: u64, bytes: u64 },
    #[error("its functions have too many local variables in too many bytes to be compiled together")]
    FollowedInAll,
    #[error("one of its functions brings more than {MERGED} values together where its ways meet")]
    Merged,
    #[error("one of its functions carries more than {CARRIED} values to where its ways meet and to what it calls")]
    Carried,
}

/// What there is to compile.
#[derive(Debug, Clone, Copy, Default)]
struct Amount {
    functions: u64,
    followed: u64,
}

/// A module or component that is being read, and what functions of a module are made of.
#[derive(Default)]
struct Part {
    types: Vec<Signature>,
    /// The type of each, those that are imported first.
    functions: Vec<u32>,
    /// How many of them are imported or have been read.
    read: usize,
}

/// How many values a function or a block takes and gives. The parser lets no more than 1000 of either through.
#[derive(Debug, Clone, Copy, Default)]
struct Signature {
    params: u16,
    results: u16,
}

/// A block, loop or choice that is not closed yet, or the function itself.
struct Frame {
    /// How often locals had been set when it began; nothing for the function, behind which nobody reads them.
    sets: Option<u64>,
    /// What it takes and gives.
    own: u64,
    /// How many ways lead to where it ends, or begins anew.
    ways: u64,
}

/// Reads a component as far as it must be to know what it is. Whether it is valid is for the engine to say.
pub fn outline(bytes: &[u8]) -> Result<Outline, OutlineFault> {
    within(bytes.len() as u64, BYTES, |found| Excess::Bytes { found })?;
    let (mut outline, mut amount) = (Outline::default(), Amount::default());
    // What the part that is being read lies in, from the outermost.
    let (mut around, mut part) = (Vec::new(), Part::default());
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => around.push(mem::take(&mut part)),
            Payload::End(_) => part = around.pop().unwrap_or_default(),
            Payload::ComponentImportSection(section) if around.is_empty() => {
                for import in section {
                    outline.imports.push(import?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if around.is_empty() => {
                for export in section {
                    outline.exports.push(export?.name.name.to_owned());
                }
            }
            Payload::TypeSection(section) => part.read_types(section)?,
            Payload::ImportSection(section) => part.import(section)?,
            Payload::FunctionSection(section) => {
                amount += Amount { functions: u64::from(section.count()), followed: 0 };
                within(amount.functions, FUNCTIONS, |found| Excess::Functions { found })?;
                for index in section {
                    part.functions.push(index?);
                }
            }
            Payload::CodeSectionEntry(body) => {
                let own = part.next()?;
                let locals = locals(&body, own)?;
                amount += Amount { functions: 0, followed: followed(&body, locals)? };
                within(amount.followed, FOLLOWED_IN_ALL, |_| Excess::FollowedInAll)?;
                part.check_merged(&body, own, locals)?;
            }
            _ => {}
        }
    }
    Ok(outline)
}

/// How many local variables a function has, with its parameters, which are set as they are.
fn locals(body: &FunctionBody<'_>, own: Signature) -> Result<u64, OutlineFault> {
    let mut locals = u64::from(own.params);
    for group in body.get_locals_reader()? {
        locals += u64::from(group?.0);
    }
    within(locals, LOCALS, |found| Excess::Locals { found })?;
    Ok(locals)
}

/// How many values there are to follow in a function.
fn followed(body: &FunctionBody<'_>, locals: u64) -> Result<u64, OutlineFault> {
    let bytes = body.range().len() as u64;
    within(bytes, BODY, |found| Excess::Body { found })?;
    within(bytes * locals, FOLLOWED, |_| Excess::Followed { locals, bytes })?;
    Ok(bytes * locals)
}

impl Part {
    fn read_types(&mut self, section: TypeSectionReader<'_>) -> Result<(), OutlineFault> {
        for group in section {
            self.types.extend(group?.into_types().map(|one| match one.composite_type.inner {
                CompositeInnerType::Func(function) => Signature::new(function.params().len(), function.results().len()),
                // Of no function and no block; the engine refuses it where it is used for one.
                CompositeInnerType::Array(_) | CompositeInnerType::Struct(_) | CompositeInnerType::Cont(_) => {
                    Signature::default()
                }
            }));
        }
        Ok(())
    }

    fn import(&mut self, section: ImportSectionReader<'_>) -> Result<(), OutlineFault> {
        for import in section.into_imports() {
            if let TypeRef::Func(index) | TypeRef::FuncExact(index) = import?.ty {
                self.functions.push(index);
                self.read = self.functions.len();
                within(self.read as u64, FUNCTIONS, |found| Excess::Functions { found })?;
            }
        }
        Ok(())
    }

    /// The function whose code comes next.
    fn next(&mut self) -> Result<Signature, OutlineFault> {
        let next = self.function(self.read)?;
        self.read += 1;
        Ok(next)
    }

    fn function(&self, index: usize) -> Result<Signature, OutlineFault> {
        let unknown = || OutlineFault::Invalid { problem: format!("there is no function {index}") };
        self.of_type(*self.functions.get(index).ok_or_else(unknown)?)
    }

    fn of_type(&self, index: u32) -> Result<Signature, OutlineFault> {
        let unknown = || OutlineFault::Invalid { problem: format!("there is no type {index}") };
        usize::try_from(index).ok().and_then(|index| self.types.get(index)).copied().ok_or_else(unknown)
    }

    fn of_block(&self, block: BlockType) -> Result<Signature, OutlineFault> {
        match block {
            BlockType::Empty => Ok(Signature::default()),
            BlockType::Type(_) => Ok(Signature { params: 0, results: 1 }),
            BlockType::FuncType(index) => self.of_type(index),
        }
    }

    /// Looks how many values come together in a function, at most.
    fn check_merged(&self, body: &FunctionBody<'_>, own: Signature, locals: u64) -> Result<(), OutlineFault> {
        let mut operators = body.get_operators_reader()?;
        let mut frames = vec![Frame { sets: None, own: u64::from(own.results), ways: 1 }];
        let (mut sets, mut merged, mut carried) = (0_u64, 0_u64, 0_u64);
        while !operators.eof() {
            match operators.read()? {
                Operator::Block { blockty } | Operator::Loop { blockty } | Operator::If { blockty } => {
                    frames.push(Frame { sets: Some(sets), own: self.of_block(blockty)?.values(), ways: 1 });
                }
                Operator::TryTable { try_table } => {
                    frames.push(Frame { sets: Some(sets), own: self.of_block(try_table.ty)?.values(), ways: 1 });
                }
                Operator::LocalSet { .. } | Operator::LocalTee { .. } => sets += 1,
                Operator::Br { relative_depth }
                | Operator::BrIf { relative_depth }
                | Operator::BrOnNull { relative_depth }
                | Operator::BrOnNonNull { relative_depth }
                | Operator::BrOnCast { relative_depth, .. }
                | Operator::BrOnCastFail { relative_depth, .. } => lead(&mut frames, relative_depth),
                Operator::BrTable { targets } => {
                    for target in targets.targets().chain([Ok(targets.default())]) {
                        lead(&mut frames, target?);
                    }
                }
                Operator::Return => carried += u64::from(own.results),
                Operator::Call { function_index } | Operator::ReturnCall { function_index } => {
                    let index = usize::try_from(function_index).unwrap_or(usize::MAX);
                    carried += self.function(index)?.values();
                }
                Operator::CallIndirect { type_index, .. }
                | Operator::ReturnCallIndirect { type_index, .. }
                | Operator::CallRef { type_index }
                | Operator::ReturnCallRef { type_index } => carried += self.of_type(type_index)?.values(),
                Operator::End => {
                    if let Some(Frame { sets: before, own, ways }) = frames.pop() {
                        let met = own + before.map_or(0, |before| (sets - before).min(locals));
                        merged += met;
                        carried += met * ways;
                        within(merged, MERGED, |_| Excess::Merged)?;
                    }
                }
                _ => {}
            }
            within(carried, CARRIED, |_| Excess::Carried)?;
        }
        Ok(())
    }
}

impl Signature {
    fn new(params: usize, results: usize) -> Self {
        let [params, results] = [params, results].map(|number| u16::try_from(number).unwrap_or(u16::MAX));
        Self { params, results }
    }

    fn values(self) -> u64 {
        u64::from(self.params) + u64::from(self.results)
    }
}

/// One more way to a frame, counted from the innermost.
fn lead(frames: &mut [Frame], depth: u32) {
    let place = usize::try_from(depth).ok().and_then(|depth| frames.len().checked_sub(depth + 1));
    if let Some(frame) = place.and_then(|place| frames.get_mut(place)) {
        frame.ways += 1;
    }
}

impl From<BinaryReaderError> for OutlineFault {
    fn from(error: BinaryReaderError) -> Self {
        Self::Invalid { problem: error.to_string() }
    }
}

fn within(found: u64, most: u64, excess: impl FnOnce(u64) -> Excess) -> Result<(), Excess> {
    if found > most { Err(excess(found)) } else { Ok(()) }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Self) {
        self.functions += other.functions;
        self.followed = self.followed.saturating_add(other.followed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A component with functions that do nothing: how many, of how many bytes each, with how many parameters and locals.
    fn component(functions: usize, bytes: usize, params: usize, locals: u32) -> Vec<u8> {
        let mut body = [&[1][..], &number(locals as usize), &[0x7e]].concat();
        // `nop`, and the end.
        body.resize(bytes.saturating_sub(1).max(body.len()), 0x01);
        body.push(0x0b);
        let body = [number(body.len()), body].concat();
        with_code(&[number(functions), body.repeat(functions)].concat(), functions, &[(params, 0)])
    }

    /// A component with functions of the first of these types.
    fn with_code(code: &[u8], functions: usize, types: &[(usize, usize)]) -> Vec<u8> {
        let values = |values: usize| [number(values), vec![0x7e; values]].concat();
        let kinds = types.iter().map(|&(params, results)| [vec![0x60], values(params), values(results)].concat());
        let module = [
            b"\0asm\x01\0\0\0".to_vec(),
            section(1, &[number(types.len()), kinds.collect::<Vec<_>>().concat()].concat()),
            section(3, &[number(functions), vec![0; functions]].concat()),
            section(10, code),
        ]
        .concat();
        [b"\0asm\x0d\0\x01\0".to_vec(), section(1, &module)].concat()
    }

    /// A function of blocks in each other.
    #[derive(Debug, Clone, Copy, Default)]
    struct Nested {
        blocks: usize,
        /// What each of them gives.
        results: usize,
        /// How often one of them may be left before parameters and locals are set in the innermost.
        ways: usize,
        params: usize,
        locals: usize,
        /// How often it calls itself there.
        calls: usize,
    }

    fn nested(shape: Nested) -> Vec<u8> {
        let Nested { blocks, results, ways, params, locals, calls } = shape;
        let get = |local: usize| [vec![0x20], number(local)].concat();
        let leave = |depth: usize| [get(0), vec![0xa7, 0x0d], number(depth)].concat();
        let mut code = [&[1][..], &number(locals), &[0x7e]].concat();
        code.extend([0x02, if results == 0 { 0x40 } else { 1 }].repeat(blocks));
        // Nobody gets past `unreachable`, so that what blocks and calls take need not be made.
        code.extend(vec![0; usize::from(results + calls > 0)]);
        (0..ways).for_each(|way| code.extend(leave(way % blocks)));
        (0..params + locals).for_each(|local| code.extend([vec![0x42, 0x01, 0x21], number(local)].concat()));
        code.extend([0x10, 0].repeat(calls));
        code.extend(vec![0x0b; blocks]);
        code.extend([0, 0x0b]);
        with_code(&[number(1), number(code.len()), code].concat(), 1, &[(params, 0), (0, results)])
    }

    fn section(kind: u8, content: &[u8]) -> Vec<u8> {
        [&[kind][..], &number(content.len()), content].concat()
    }

    fn number(mut number: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let low = u8::try_from(number & 0x7f).expect("seven bits");
            number >>= 7;
            bytes.push(if number == 0 { low } else { low | 0x80 });
            if number == 0 {
                return bytes;
            }
        }
    }

    #[test]
    fn what_is_too_much_for_a_compiler_is_named() {
        let rows = [
            ((1, 430_000, 0, 60), None),
            ((20_000, 500, 0, 20), None),
            ((1, 165_521, 0, 3643), None),
            ((1, 2 << 20, 0, 0), Some("one of its functions has 2097152 bytes; at most 1048576 are compiled")),
            ((1, 20, 0, 50_000), Some("one of its functions has 50000 local variables; at most 5000 are compiled")),
            (
                (1, 900_000, 0, 2000),
                Some(
                    "one of its functions has 2000 local variables in 900000 bytes, which is too much to compile together",
                ),
            ),
            (
                (20, 100_000, 0, 1000),
                Some("its functions have too many local variables in too many bytes to be compiled together"),
            ),
            (
                (1, 1_040_000, 1000, 0),
                Some(
                    "one of its functions has 1000 local variables in 1040000 bytes, which is too much to compile together",
                ),
            ),
            ((100_001, 4, 0, 0), Some("it has 100001 functions, of which at most 100000 are compiled")),
        ];
        for ((functions, bytes, params, locals), expected) in rows {
            let fault = outline(&component(functions, bytes, params, locals)).err().map(|fault| fault.to_string());
            assert_eq!(
                fault.as_deref(),
                expected,
                "{functions} functions of {bytes} bytes with {params} parameters and {locals} locals"
            );
        }
        let large = vec![0; (64 << 20) + 1];
        let fault = outline(&large).expect_err("too large").to_string();
        assert_eq!(fault, "it has 67108865 bytes, of which at most 67108864 are compiled");
    }
    /// Some kilobytes, which would take more memory to compile than most machines have.
    #[test]
    fn what_comes_together_too_often_is_not_given_to_a_compiler() {
        let merged = "one of its functions brings more than 2000000 values together where its ways meet";
        let carried =
            "one of its functions carries more than 16000000 values to where its ways meet and to what it calls";
        let shape = |blocks, ways, locals| Nested { blocks, ways, locals, ..Nested::default() };
        let of_params = |blocks, params| Nested { blocks, params, ..Nested::default() };
        let giving = |blocks, results, ways| Nested { blocks, results, ways, ..Nested::default() };
        let calling = |calls| Nested { params: 1000, calls, ..Nested::default() };
        let rows = [
            (shape(300, 3000, 480), None),
            (shape(500, 1000, 3643), None),
            (shape(500, 1000, 4500), Some(merged)),
            (shape(30_000, 30_000, 200), Some(merged)),
            (shape(1, 60_000, 1000), Some(carried)),
            (of_params(1900, 1000), None),
            (of_params(2100, 1000), Some(merged)),
            (giving(1900, 1000, 0), None),
            (giving(2100, 1000, 0), Some(merged)),
            (giving(1, 1000, 60_000), Some(carried)),
            (calling(15_000), None),
            (calling(17_000), Some(carried)),
        ];
        for (shape, expected) in rows {
            let bytes = nested(shape);
            let fault = outline(&bytes).err().map(|fault| fault.to_string());
            assert_eq!(fault.as_deref(), expected, "{shape:?}, {} bytes", bytes.len());
        }
    }
}
