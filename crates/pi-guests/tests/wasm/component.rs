//! Components from text: a core module in WAT, with values of the package's types laid out in its memory.
//!
//! A text may contain `{name}` for the address of a value or of a slot in one, `{'…'}` for address and length of a text,
//! `{data}` for the memory itself and `{heap}` for its end.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{
    Resolve, SizeAlign, Type, TypeDefKind, WorldId,
    abi::{AbiVariant, WasmType},
};

/// Where values begin.
const BASE: u32 = 1024;

/// The package, and a memory in which values of it are laid out.
pub(crate) struct Assembler {
    resolve: Resolve,
    sizes: SizeAlign,
    world: WorldId,
    memory: Vec<u8>,
    symbols: BTreeMap<String, u32>,
}

impl Assembler {
    pub(crate) fn new() -> Self {
        let mut resolve = Resolve::default();
        let package = resolve.push_source("extension.wit", pi_extproto::schema::WIT).expect("the package resolves");
        let world = resolve.select_world(&[package], Some("extension")).expect("the world");
        let mut sizes = SizeAlign::default();
        sizes.fill(&resolve);
        Self { resolve, sizes, world, memory: Vec::new(), symbols: BTreeMap::new() }
    }

    /// Lays out what the function of an interface returns, under a name.
    pub(crate) fn result(mut self, name: &str, interface: &str, function: &str, value: &Value) -> Self {
        let ty = self.result_type(interface, function);
        let at = self.place(&ty);
        self.store(at, &ty, value);
        self.symbols.insert(name.to_owned(), at);
        self
    }

    /// Names a number.
    pub(crate) fn number(mut self, name: &str, number: usize) -> Self {
        self.symbols.insert(name.to_owned(), u32::try_from(number).expect("a small number"));
        self
    }

    /// Where a slot is.
    pub(crate) fn slot(&self, name: &str) -> u32 {
        self.symbols[name]
    }

    /// Lays out a number of four bytes, under a name.
    pub(crate) fn word(mut self, name: &str, number: u32) -> Self {
        let at = self.room(4, 4);
        self.write(at, &number.to_le_bytes());
        self.symbols.insert(name.to_owned(), at);
        self
    }

    /// Lays out a list of texts, under a name.
    pub(crate) fn texts(mut self, name: &str, texts: &[&str]) -> Self {
        let at = self.room(8 * texts.len(), 4);
        for (index, text) in texts.iter().enumerate() {
            let place = at + u32::try_from(index * 8).expect("a short list");
            self.store(place, &Type::String, &json!(text));
        }
        self.symbols.insert(name.to_owned(), at);
        self
    }

    /// Where the second member of the pair stands in what `next` of a stream returns, and what of it holds a piece.
    pub(crate) fn stream_offsets(self) -> Self {
        let result = self.result_type("streams", "[method]output-stream.next");
        let Type::Id(id) = result else { panic!("a result") };
        let TypeDefKind::Result(kind) = &self.resolve.types[id].kind else { panic!("a result") };
        let (ok, err) = (kind.ok.expect("a pair"), kind.err.expect("an error"));
        let payload = self.payload(&[Some(ok), Some(err)]);
        let Type::Id(pair) = ok else { panic!("a pair") };
        let TypeDefKind::Tuple(pair) = &self.resolve.types[pair].kind else { panic!("a pair") };
        let offsets = self.sizes.field_offsets(&pair.types);
        let item = payload + offsets[1].0.size_wasm32();
        let Type::Id(variant) = pair.types[1] else { panic!("an item") };
        let TypeDefKind::Variant(variant) = &self.resolve.types[self.alias(variant)].kind else { panic!("a variant") };
        let cases: Vec<_> = variant.cases.iter().map(|case| case.ty).collect();
        let held = item + self.payload(&cases);
        self.number("failure", payload).number("item", item).number("piece", held + 4)
    }

    /// The number of an event.
    pub(crate) fn event(self, name: &str, case: &str) -> Self {
        let package = self.resolve.worlds[self.world].package.expect("a package");
        let hooks = self.resolve.packages[package].interfaces["hooks"];
        let event = self.resolve.interfaces[hooks].types["event"];
        let TypeDefKind::Variant(variant) = &self.resolve.types[event].kind else { panic!("a variant") };
        let index = variant.cases.iter().position(|known| known.name == case).expect("an event");
        let cases: Vec<_> = variant.cases.iter().map(|case| case.ty).collect();
        let payload = self.payload(&cases);
        self.number(name, index).number("event", payload)
    }

    /// The same with what others describe beside it: packages, and a world that includes ours. The last thing before the
    /// component, because what is laid out belongs to our package.
    pub(crate) fn beside(mut self, packages: &[&str], world: &str) -> Self {
        for package in packages {
            self.resolve.push_source("beside.wit", package).expect("the package resolves");
        }
        let package = self.resolve.push_source("world.wit", world).expect("the world resolves");
        self.world = self.resolve.select_world(&[package], None).expect("one world");
        self
    }

    /// Lays out a call of a function that a host has: the text of its import, that of the call, and what reads its result
    /// in the memory of the guest afterwards.
    pub(crate) fn call(mut self, interface: &str, function: &str, values: &[Value]) -> (Self, [String; 2], Reader) {
        let package = self.resolve.worlds[self.world].package.expect("a package");
        let id = self.resolve.packages[package].interfaces[interface];
        let called = self.resolve.interfaces[id].functions[function].clone();
        let signature = self.resolve.wasm_signature(AbiVariant::GuestImport, &called);
        let kinds = signature.params.iter().map(|kind| if *kind == WasmType::I64 { "i64" } else { "i32" });
        let kinds = kinds.collect::<Vec<_>>().join(" ");
        let import = format!(r#"(import "pi:extension/{interface}@1.0.0" "{function}" (func $call (param {kinds})))"#);
        let types: Vec<Type> = called.params.iter().map(|param| param.ty).collect();
        assert_eq!(types.len(), values.len(), "{interface}.{function}");
        let mut flat = Vec::new();
        if signature.indirect_params {
            let offsets: Vec<usize> =
                self.sizes.field_offsets(&types).iter().map(|(offset, _)| offset.size_wasm32()).collect();
            // Room for whatever follows the last of them.
            let at = self.room(offsets.last().copied().unwrap_or_default() + 64, 8);
            for ((ty, value), offset) in types.iter().zip(values).zip(offsets) {
                self.store(at + u32::try_from(offset).expect("small"), ty, value);
            }
            flat.push(format!("(i32.const {at})"));
        } else {
            types.iter().zip(values).for_each(|(ty, value)| self.flatten(ty, Some(value), &mut flat));
        }
        let result = called.result.expect("it returns something");
        let at = self.place(&result);
        let call = format!("(call $call {} (i32.const {at}))", flat.join(" "));
        let (resolve, mut sizes) = (self.resolve.clone(), SizeAlign::default());
        sizes.fill(&resolve);
        (self, [import, call], Reader { resolve, sizes, at, result })
    }

    /// A value as constants on the stack; nothing is all zeros.
    fn flatten(&mut self, ty: &Type, value: Option<&Value>, flat: &mut Vec<String>) {
        let number = value.and_then(Value::as_u64).unwrap_or_default();
        match ty {
            Type::Bool => flat.push(format!("(i32.const {})", u8::from(value == Some(&Value::Bool(true))))),
            Type::U32 => flat.push(format!("(i32.const {number})")),
            Type::U64 => flat.push(format!("(i64.const {number})")),
            Type::String => {
                let text = value.and_then(Value::as_str).unwrap_or_default().to_owned();
                let at = self.bytes(text.as_bytes());
                flat.push(format!("(i32.const {at}) (i32.const {})", text.len()));
            }
            Type::Id(id) => match self.resolve.types[self.alias(*id)].kind.clone() {
                TypeDefKind::Type(ty) => self.flatten(&ty, value, flat),
                TypeDefKind::Record(record) => {
                    for field in &record.fields {
                        self.flatten(&field.ty, value.and_then(|value| value.get(&field.name)), flat);
                    }
                }
                TypeDefKind::Option(ty) => {
                    let held = value.filter(|value| !value.is_null());
                    flat.push(format!("(i32.const {})", u8::from(held.is_some())));
                    self.flatten(&ty, held, flat);
                }
                TypeDefKind::Enum(words) => {
                    let place =
                        words.cases.iter().position(|case| Some(case.name.as_str()) == value.and_then(Value::as_str));
                    flat.push(format!("(i32.const {})", place.unwrap_or_default()));
                }
                TypeDefKind::List(_) => {
                    let (at, empty) = (self.room(8, 4), json!([]));
                    self.store(at, ty, value.unwrap_or(&empty));
                    let start = (at - BASE) as usize;
                    let word = |at: usize| u32::from_le_bytes(self.memory[at..at + 4].try_into().expect("four bytes"));
                    flat.push(format!("(i32.const {}) (i32.const {})", word(start), word(start + 4)));
                }
                other => panic!("{} is not passed", other.as_str()),
            },
            other => panic!("{other:?} is not passed"),
        }
    }

    /// The component of a text.
    pub(crate) fn component(mut self, text: &str) -> Vec<u8> {
        let text = self.filled(text);
        let mut module = wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        embed_component_metadata(&mut module, &self.resolve, self.world, StringEncoding::UTF8).expect("metadata");
        let encoder = ComponentEncoder::default().validate(true).module(&module).expect("a module of the world");
        let mut encoder = encoder;
        encoder.encode().expect("a component")
    }

    fn filled(&mut self, text: &str) -> String {
        let (mut filled, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            if let Some(constant) = after.strip_prefix('\'') {
                let (constant, after) = constant.split_once("'}").expect("the end of a text");
                let at = self.bytes(constant.as_bytes());
                filled.push_str(&format!("(i32.const {at}) (i32.const {})", constant.len()));
                rest = after;
                continue;
            }
            let (name, after) = after.split_once('}').expect("a closing brace");
            match self.symbols.get(name) {
                // These are known when everything else has its place.
                None if ["data", "heap"].contains(&name) => filled.push_str(&format!("{{{name}}}")),
                None => panic!("there is no value {name}"),
                Some(number) => filled.push_str(&number.to_string()),
            }
            rest = after;
        }
        filled.push_str(rest);
        let bytes: String = self.memory.iter().map(|byte| format!("\\{byte:02x}")).collect();
        let heap = BASE as usize + self.memory.len().next_multiple_of(16);
        filled.replace("{data}", &format!("(data (i32.const {BASE}) \"{bytes}\")")).replace("{heap}", &heap.to_string())
    }

    fn result_type(&self, interface: &str, function: &str) -> Type {
        let package = self.resolve.worlds[self.world].package.expect("a package");
        let id = self.resolve.packages[package].interfaces[interface];
        self.resolve.interfaces[id].functions[function].result.expect("it returns something")
    }

    fn alias(&self, id: wit_parser::TypeId) -> wit_parser::TypeId {
        match self.resolve.types[id].kind {
            TypeDefKind::Type(Type::Id(of)) => self.alias(of),
            _ => id,
        }
    }

    fn room(&mut self, size: usize, align: usize) -> u32 {
        let start = self.memory.len().next_multiple_of(align.max(1));
        self.memory.resize(start + size, 0);
        BASE + u32::try_from(start).expect("a small memory")
    }

    fn place(&mut self, ty: &Type) -> u32 {
        let (size, align) = (self.sizes.size(ty).size_wasm32(), self.sizes.align(ty).align_wasm32());
        self.room(size, align)
    }

    fn bytes(&mut self, bytes: &[u8]) -> u32 {
        let at = self.room(bytes.len(), 1);
        self.write(at, bytes);
        at
    }

    fn write(&mut self, at: u32, bytes: &[u8]) {
        let start = (at - BASE) as usize;
        self.memory[start..start + bytes.len()].copy_from_slice(bytes);
    }

    fn pair(&mut self, at: u32, first: u32, second: usize) {
        self.write(at, &first.to_le_bytes());
        self.write(at + 4, &u32::try_from(second).expect("a short list").to_le_bytes());
    }

    fn payload(&self, cases: &[Option<Type>]) -> usize {
        payload(&self.sizes, cases)
    }

    fn store(&mut self, at: u32, ty: &Type, value: &Value) {
        if let Some(slot) = value.get("$slot").and_then(Value::as_str) {
            self.symbols.insert(slot.to_owned(), at);
            return;
        }
        match ty {
            Type::Bool => self.write(at, &[u8::from(value.as_bool().expect("a truth"))]),
            Type::String => {
                let text = value.as_str().expect("a text");
                let start = self.bytes(text.as_bytes());
                self.pair(at, start, text.len());
            }
            Type::U64 => self.write(at, &value.as_u64().expect("a number").to_le_bytes()),
            Type::U8 => self.write(at, &[u8::try_from(value.as_u64().expect("a number")).expect("a byte")]),
            Type::Id(id) => self.store_defined(at, *id, value),
            other => panic!("{other:?} is not laid out"),
        }
    }

    fn store_defined(&mut self, at: u32, id: wit_parser::TypeId, value: &Value) {
        let kind = self.resolve.types[id].kind.clone();
        match kind {
            TypeDefKind::Type(ty) => self.store(at, &ty, value),
            TypeDefKind::Record(record) => {
                let types: Vec<Type> = record.fields.iter().map(|field| field.ty).collect();
                let offsets: Vec<usize> =
                    self.sizes.field_offsets(&types).iter().map(|(offset, _)| offset.size_wasm32()).collect();
                for (field, offset) in record.fields.iter().zip(offsets) {
                    let member = value.get(&field.name).unwrap_or(&Value::Null);
                    self.store(at + u32::try_from(offset).expect("small"), &field.ty, member);
                }
            }
            TypeDefKind::Tuple(tuple) => {
                let offsets: Vec<usize> =
                    self.sizes.field_offsets(&tuple.types).iter().map(|(offset, _)| offset.size_wasm32()).collect();
                for (index, (ty, offset)) in tuple.types.iter().zip(offsets).enumerate() {
                    self.store(at + u32::try_from(offset).expect("small"), ty, &value[index]);
                }
            }
            TypeDefKind::Option(ty) if !value.is_null() => {
                self.write(at, &[1]);
                let offset = self.payload(&[Some(ty)]);
                self.store(at + u32::try_from(offset).expect("small"), &ty, value);
            }
            TypeDefKind::Option(_) => self.write(at, &[0]),
            TypeDefKind::Enum(words) => {
                let word = value.as_str().expect("a word");
                let index = words.cases.iter().position(|case| case.name == word).expect("a known word");
                self.write(at, &[u8::try_from(index).expect("few words")]);
            }
            TypeDefKind::Result(result) => {
                let cases = [("ok", result.ok), ("err", result.err)];
                self.store_case(at, &cases.map(|(name, ty)| (name.to_owned(), ty)), value);
            }
            TypeDefKind::Variant(variant) => {
                let cases: Vec<_> = variant.cases.iter().map(|case| (case.name.clone(), case.ty)).collect();
                self.store_case(at, &cases, value);
            }
            TypeDefKind::List(Type::U8) if value.is_string() => self.store(at, &Type::String, value),
            TypeDefKind::List(ty) => {
                let items = value.as_array().expect("a list");
                let size = self.sizes.size(&ty).size_wasm32();
                let start = self.room(size * items.len(), self.sizes.align(&ty).align_wasm32());
                for (index, item) in items.iter().enumerate() {
                    self.store(start + u32::try_from(index * size).expect("small"), &ty, item);
                }
                self.pair(at, start, items.len());
            }
            other => panic!("{} is not laid out", other.as_str()),
        }
    }

    /// `"case"`, or `{"case": what it holds}`.
    fn store_case(&mut self, at: u32, cases: &[(String, Option<Type>)], value: &Value) {
        let (name, held) = match value {
            Value::String(name) => (name.as_str(), None),
            Value::Object(members) => {
                let (name, held) = members.iter().next().expect("a case");
                (name.as_str(), Some(held))
            }
            other => panic!("{other} is no case"),
        };
        let index = cases.iter().position(|(known, _)| known == name).unwrap_or_else(|| panic!("no case {name}"));
        self.write(at, &[u8::try_from(index).expect("few cases")]);
        if let (Some(ty), Some(held)) = (cases[index].1, held) {
            let types: Vec<_> = cases.iter().map(|(_, ty)| *ty).collect();
            let offset = self.payload(&types);
            self.store(at + u32::try_from(offset).expect("small"), &ty, held);
        }
    }
}

/// Where what a case holds begins.
fn payload(sizes: &SizeAlign, cases: &[Option<Type>]) -> usize {
    let align = cases.iter().flatten().map(|ty| sizes.align(ty).align_wasm32()).max().unwrap_or(1);
    // The number of a case has one byte as long as there are fewer than 256.
    align.max(1)
}

/// Reads what a host wrote into the memory of a guest.
pub(crate) struct Reader {
    resolve: Resolve,
    sizes: SizeAlign,
    at: u32,
    result: Type,
}

impl Reader {
    /// The result of the call: records by their names, cases as `"case"` or `{"case": …}`, bytes as text.
    pub(crate) fn read(&self, memory: &[u8]) -> Value {
        self.load(memory, self.at as usize, &self.result)
    }

    fn load(&self, memory: &[u8], at: usize, ty: &Type) -> Value {
        let word = |at: usize| u32::from_le_bytes(memory[at..at + 4].try_into().expect("four bytes")) as usize;
        match ty {
            Type::Bool => json!(memory[at] == 1),
            Type::U8 => json!(memory[at]),
            Type::U16 => json!(u16::from_le_bytes([memory[at], memory[at + 1]])),
            Type::U32 => json!(word(at)),
            Type::U64 => json!(u64::from_le_bytes(memory[at..at + 8].try_into().expect("eight bytes"))),
            Type::String => json!(String::from_utf8_lossy(&memory[word(at)..word(at) + word(at + 4)])),
            Type::Id(id) => match &self.resolve.types[*id].kind {
                TypeDefKind::Type(ty) => self.load(memory, at, ty),
                TypeDefKind::Record(record) => {
                    let types: Vec<Type> = record.fields.iter().map(|field| field.ty).collect();
                    let fields = record.fields.iter().zip(self.sizes.field_offsets(&types));
                    fields
                        .map(|(field, (offset, ty))| {
                            (field.name.clone(), self.load(memory, at + offset.size_wasm32(), ty))
                        })
                        .collect()
                }
                TypeDefKind::Tuple(tuple) => {
                    let offsets = self.sizes.field_offsets(&tuple.types);
                    offsets.iter().map(|(offset, ty)| self.load(memory, at + offset.size_wasm32(), ty)).collect()
                }
                TypeDefKind::Option(ty) if memory[at] == 1 => {
                    self.load(memory, at + payload(&self.sizes, &[Some(*ty)]), ty)
                }
                TypeDefKind::Option(_) => Value::Null,
                TypeDefKind::Enum(words) => json!(words.cases[memory[at] as usize].name),
                TypeDefKind::Result(result) => self.load_case(memory, at, &[("ok", result.ok), ("err", result.err)]),
                TypeDefKind::Variant(variant) => {
                    let cases: Vec<_> = variant.cases.iter().map(|case| (case.name.as_str(), case.ty)).collect();
                    self.load_case(memory, at, &cases)
                }
                TypeDefKind::List(Type::U8) => self.load(memory, at, &Type::String),
                TypeDefKind::List(ty) => {
                    let (start, size) = (word(at), self.sizes.size(ty).size_wasm32());
                    (0..word(at + 4)).map(|index| self.load(memory, start + index * size, ty)).collect()
                }
                other => panic!("{} is not read", other.as_str()),
            },
            other => panic!("{other:?} is not read"),
        }
    }

    fn load_case(&self, memory: &[u8], at: usize, cases: &[(&str, Option<Type>)]) -> Value {
        let (name, held) = cases[memory[at] as usize];
        let types: Vec<_> = cases.iter().map(|(_, ty)| *ty).collect();
        match held {
            None => json!(name),
            Some(ty) => json!({ name: self.load(memory, at + payload(&self.sizes, &types), &ty) }),
        }
    }
}
