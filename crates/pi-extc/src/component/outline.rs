//! What a component is called by and how much there is to compile in it, read before anybody compiles it.
//!
//! A compiler cannot be stopped, and works longer the larger a function is and the more values live through it. So what is far
//! larger than anything that compilers make is not given to it.

use std::ops::AddAssign;

use wasmparser::{BinaryReaderError, FunctionBody, Operator, Parser, Payload};

/// Most of everything that is compiled: several times of what is largest in components with a whole interpreter for Python or
/// JavaScript in them (18 MB; 20 000 functions, of which one has 430 kB, and one 480 locals).
const BYTES: u64 = 64 << 20;
const FUNCTIONS: u64 = 100_000;
const BODY: u64 = 1 << 20;
const LOCALS: u64 = 5000;
/// Values that the compiler has to follow: the bytes of a function times its locals. One interpreter has 23 million in a
/// function, another 200 million in all of them; a component in Rust that is not optimised has 603 million in one function, of
/// 165 kB and 3643 locals, and 662 million in all.
const FOLLOWED: u64 = 1_000_000_000;
const FOLLOWED_IN_ALL: u64 = 1_500_000_000;
/// Values that the compiler has to bring together in a function: at the end of a block, or the beginning of a loop, one for each
/// local that is set inside; and how often it has to carry one there, once for each way. Some kilobytes can ask for as many as
/// there are blocks times locals, and each that is really there takes 1.5 kB of memory while the function is compiled. A component
/// in Rust that is not optimised could have 977 000 in one function, carried 2.2 million times.
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
    #[error("one of its functions carries more than {CARRIED} values to where its ways meet")]
    Carried,
}

/// What there is to compile.
#[derive(Debug, Clone, Copy, Default)]
struct Amount {
    functions: u64,
    followed: u64,
}

/// A block, loop or choice that is not closed yet.
struct Frame {
    /// How often locals had been set when it began.
    sets: u64,
    /// How many ways lead to where it ends, or begins anew.
    ways: u64,
}

/// Reads a component as far as it must be to know what it is. Whether it is valid is for the engine to say.
pub fn outline(bytes: &[u8]) -> Result<Outline, OutlineFault> {
    within(bytes.len() as u64, BYTES, |found| Excess::Bytes { found })?;
    let (mut outline, mut amount, mut depth) = (Outline::default(), Amount::default(), 0_usize);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    outline.imports.push(import?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    outline.exports.push(export?.name.name.to_owned());
                }
            }
            Payload::CodeSectionEntry(body) => {
                let locals = locals(&body)?;
                amount += Amount { functions: 1, followed: followed(&body, locals)? };
                within(amount.functions, FUNCTIONS, |found| Excess::Functions { found })?;
                within(amount.followed, FOLLOWED_IN_ALL, |_| Excess::FollowedInAll)?;
                check_merged(&body, locals)?;
            }
            _ => {}
        }
    }
    Ok(outline)
}

/// How many local variables a function has.
fn locals(body: &FunctionBody<'_>) -> Result<u64, OutlineFault> {
    let mut locals = 0_u64;
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

/// Looks how many values come together in a function, at most.
fn check_merged(body: &FunctionBody<'_>, locals: u64) -> Result<(), OutlineFault> {
    let mut operators = body.get_operators_reader()?;
    let (mut frames, mut sets, mut merged, mut carried) = (Vec::new(), 0_u64, 0_u64, 0_u64);
    while !operators.eof() {
        match operators.read()? {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } | Operator::TryTable { .. } => {
                frames.push(Frame { sets, ways: 1 });
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
            // The last one closes the function.
            Operator::End => {
                if let Some(frame) = frames.pop() {
                    let met = (sets - frame.sets).min(locals);
                    merged += met;
                    carried += met * frame.ways;
                    within(merged, MERGED, |_| Excess::Merged)?;
                    within(carried, CARRIED, |_| Excess::Carried)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// One more way to a frame, counted from the innermost. What leads out of the function meets nothing there.
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

    /// A component with functions that do nothing: how many, of how many bytes each, with how many locals.
    fn component(functions: usize, bytes: usize, locals: u32) -> Vec<u8> {
        let mut body = [&[1][..], &number(locals as usize), &[0x7e]].concat();
        // `nop`, and the end.
        body.resize(bytes.saturating_sub(1).max(body.len()), 0x01);
        body.push(0x0b);
        let body = [number(body.len()), body].concat();
        with_code(&[number(functions), body.repeat(functions)].concat(), functions)
    }

    fn with_code(code: &[u8], functions: usize) -> Vec<u8> {
        let module = [
            b"\0asm\x01\0\0\0".to_vec(),
            section(1, &[1, 0x60, 0, 0]),
            section(3, &[number(functions), vec![0; functions]].concat()),
            section(10, code),
        ]
        .concat();
        [b"\0asm\x0d\0\x01\0".to_vec(), section(1, &module)].concat()
    }

    /// A component with a function of blocks in each other, each of which may be left before `locals` are set in the innermost, or
    /// which may be left so often.
    fn nested(blocks: usize, ways: usize, locals: usize) -> Vec<u8> {
        let get = |local: usize| [vec![0x20], number(local)].concat();
        let leave = |depth: usize| [get(0), vec![0xa7, 0x0d], number(depth)].concat();
        let mut code = [&[1][..], &number(locals), &[0x7e]].concat();
        code.extend([0x02, 0x40].repeat(blocks));
        (0..ways).for_each(|way| code.extend(leave(way % blocks)));
        (0..locals).for_each(|local| code.extend([vec![0x42, 0x01, 0x21], number(local)].concat()));
        code.extend(vec![0x0b; blocks + 1]);
        with_code(&[number(1), number(code.len()), code].concat(), 1)
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
            ((1, 430_000, 60), None),
            ((20_000, 500, 20), None),
            ((1, 165_521, 3643), None),
            ((1, 2 << 20, 0), Some("one of its functions has 2097152 bytes; at most 1048576 are compiled")),
            ((1, 20, 50_000), Some("one of its functions has 50000 local variables; at most 5000 are compiled")),
            (
                (1, 900_000, 2000),
                Some(
                    "one of its functions has 2000 local variables in 900000 bytes, which is too much to compile together",
                ),
            ),
            (
                (20, 100_000, 1000),
                Some("its functions have too many local variables in too many bytes to be compiled together"),
            ),
            ((100_001, 4, 0), Some("it has 100001 functions, of which at most 100000 are compiled")),
        ];
        for ((functions, bytes, locals), expected) in rows {
            let fault = outline(&component(functions, bytes, locals)).err().map(|fault| fault.to_string());
            assert_eq!(fault.as_deref(), expected, "{functions} functions of {bytes} bytes with {locals} locals");
        }
        let large = vec![0; (64 << 20) + 1];
        let fault = outline(&large).expect_err("too large").to_string();
        assert_eq!(fault, "it has 67108865 bytes, of which at most 67108864 are compiled");
    }
    /// Some kilobytes, which would take more memory to compile than most machines have.
    #[test]
    fn what_comes_together_too_often_is_not_given_to_a_compiler() {
        let merged = "one of its functions brings more than 2000000 values together where its ways meet";
        let carried = "one of its functions carries more than 16000000 values to where its ways meet";
        let rows = [
            ((300, 3000, 480), None),
            ((500, 1000, 3643), None),
            ((500, 1000, 4500), Some(merged)),
            ((30_000, 30_000, 200), Some(merged)),
            ((1, 60_000, 1000), Some(carried)),
        ];
        for ((blocks, ways, locals), expected) in rows {
            let bytes = nested(blocks, ways, locals);
            let fault = outline(&bytes).err().map(|fault| fault.to_string());
            assert_eq!(
                fault.as_deref(),
                expected,
                "{blocks} blocks, {ways} ways, {locals} locals, {} bytes",
                bytes.len()
            );
        }
    }
}
