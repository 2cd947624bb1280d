//! Reads settings and says of everything that does not fit where it stands.

use std::{collections::BTreeMap, fmt};

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use pi_extproto::capability::{Capability, Method};

use super::{
    AgentPolicy, AgentSection, DenyEntry, ExtensionPolicy, ExtensionSection, Fault, GrantEntry, Invalid, Noted,
    Problem, ScopeEntry, Settings,
};
use crate::policy::Mode;

pub(super) fn read(text: &[u8]) -> Result<Noted<Settings>, Invalid> {
    let Unrepeated(document) = serde_json::from_slice(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let full = error.to_string();
        let reason = full.split(" at line ").next().unwrap_or(&full).to_owned();
        Invalid { problems: vec![Problem { path: String::new(), fault: Fault::NotJson { reason, line, column } }] }
    })?;
    let mut reader = Reader::default();
    let settings = reader.settings(&document);
    match reader.problems.is_empty() {
        true => Ok(Noted { value: settings, notices: reader.notices }),
        false => Err(Invalid { problems: reader.problems }),
    }
}

#[derive(Default)]
struct Reader {
    path: String,
    problems: Vec<Problem>,
    notices: Vec<Problem>,
}

impl Reader {
    fn settings(&mut self, document: &Value) -> Settings {
        let Some(root) = self.object(document) else { return Settings::default() };
        Settings {
            extensions: self.member(root, "extensions", |reader, value| {
                let section = reader.object(value)?;
                let policy = reader.member(section, "policy", |reader, value| reader.extensions(value));
                Some(ExtensionSection { policy })
            }),
            agent: self.member(root, "agent", |reader, value| {
                let section = reader.object(value)?;
                let policy = reader.member(section, "policy", |reader, value| reader.agent(value));
                Some(AgentSection { policy })
            }),
        }
    }

    fn extensions(&mut self, value: &Value) -> Option<ExtensionPolicy> {
        let object = self.object(value)?;
        self.note_unknown(object, &["mode", "max_memory_mb", "default_caps", "deny_caps", "grants", "denies"]);
        Some(ExtensionPolicy {
            mode: self.member(object, "mode", Self::mode),
            max_memory_mb: self.member(object, "max_memory_mb", |reader, value| {
                reader.expect(value.as_u64().filter(|size| *size > 0), "a whole number above zero")
            }),
            default_caps: self.member(object, "default_caps", Self::capabilities),
            deny_caps: self.member(object, "deny_caps", Self::capabilities),
            grants: self
                .member(object, "grants", |reader, value| reader.by_name(value, Self::grant))
                .unwrap_or_default(),
            denies: self
                .member(object, "denies", |reader, value| reader.by_name(value, Self::deny))
                .unwrap_or_default(),
        })
    }

    fn agent(&mut self, value: &Value) -> Option<AgentPolicy> {
        let object = self.object(value)?;
        self.note_unknown(object, &["mode", "default_caps", "deny_caps", "grants", "denies"]);
        Some(AgentPolicy {
            mode: self.member(object, "mode", Self::mode),
            default_caps: self.member(object, "default_caps", Self::capabilities),
            deny_caps: self.member(object, "deny_caps", Self::capabilities),
            grants: self.member(object, "grants", |reader, value| reader.list(value, Self::grant)).unwrap_or_default(),
            denies: self.member(object, "denies", |reader, value| reader.list(value, Self::deny)).unwrap_or_default(),
        })
    }

    fn mode(&mut self, value: &Value) -> Option<Mode> {
        self.expect(Mode::deserialize(value).ok(), "\"strict\", \"prompt\" or \"permissive\"")
    }

    fn capabilities(&mut self, value: &Value) -> Option<Vec<Capability>> {
        self.list(value, |reader, value| reader.text(value).map(|text| Capability::from(text.as_str())))
    }

    fn grant(&mut self, value: &Value) -> Option<GrantEntry> {
        let object = self.object(value)?;
        self.refuse_unknown(object, &["capability", "methods", "scope", "versions", "expires", "origin"]);
        Some(GrantEntry {
            methods: self.member(object, "methods", Self::methods),
            scope: self.member(object, "scope", Self::scope),
            versions: self.member(object, "versions", Self::text),
            expires: self.member(object, "expires", Self::text),
            origin: self.member(object, "origin", Self::text),
            capability: self.capability(object)?,
        })
    }

    fn deny(&mut self, value: &Value) -> Option<DenyEntry> {
        let object = self.object(value)?;
        self.refuse_unknown(object, &["capability", "methods", "scope", "versions"]);
        Some(DenyEntry {
            methods: self.member(object, "methods", Self::methods),
            scope: self.member(object, "scope", Self::scope),
            versions: self.member(object, "versions", Self::text),
            capability: self.capability(object)?,
        })
    }

    fn capability(&mut self, object: &Map<String, Value>) -> Option<Capability> {
        if !object.contains_key("capability") {
            self.within(".capability", |reader| reader.report(Fault::Missing));
        }
        self.member(object, "capability", Self::text).map(|text| Capability::from(text.as_str()))
    }

    fn methods(&mut self, value: &Value) -> Option<Vec<Method>> {
        self.list(value, |reader, value| reader.text(value).map(|text| Method::from(text.as_str())))
    }

    fn scope(&mut self, value: &Value) -> Option<ScopeEntry> {
        let object = self.object(value)?;
        self.refuse_unknown(object, &["paths", "hosts", "env", "commands"]);
        let mut texts = |name| self.member(object, name, |reader, value| reader.list(value, Self::text));
        Some(ScopeEntry {
            paths: texts("paths"),
            hosts: texts("hosts"),
            env: texts("env"),
            commands: texts("commands"),
        })
    }

    fn by_name<T>(
        &mut self,
        value: &Value,
        mut read: impl FnMut(&mut Self, &Value) -> Option<T>,
    ) -> Option<BTreeMap<String, Vec<T>>> {
        let object = self.object(value)?;
        let mut all = BTreeMap::new();
        for (name, value) in object {
            if let Some(list) = self.within(&format!("[{name:?}]"), |reader| reader.list(value, &mut read)) {
                all.insert(name.clone(), list);
            }
        }
        Some(all)
    }

    fn list<T>(&mut self, value: &Value, mut read: impl FnMut(&mut Self, &Value) -> Option<T>) -> Option<Vec<T>> {
        let items = self.expect(value.as_array(), "an array")?;
        let mut list = Vec::new();
        for (index, item) in items.iter().enumerate() {
            list.extend(self.within(&format!("[{index}]"), |reader| read(reader, item)));
        }
        Some(list)
    }

    fn text(&mut self, value: &Value) -> Option<String> {
        self.expect(value.as_str().map(str::to_owned), "a string")
    }

    fn object<'a>(&mut self, value: &'a Value) -> Option<&'a Map<String, Value>> {
        self.expect(value.as_object(), "an object")
    }

    fn member<T>(
        &mut self,
        object: &Map<String, Value>,
        name: &str,
        read: impl FnOnce(&mut Self, &Value) -> Option<T>,
    ) -> Option<T> {
        let value = object.get(name)?;
        self.within(&format!(".{name}"), |reader| read(reader, value))
    }

    fn note_unknown(&mut self, object: &Map<String, Value>, known: &[&str]) {
        for name in object.keys().filter(|name| !known.contains(&name.as_str())) {
            let path = format!("{}.{name}", self.path);
            self.notices.push(Problem { path, fault: Fault::UnknownKey });
        }
    }

    fn refuse_unknown(&mut self, object: &Map<String, Value>, known: &[&str]) {
        for name in object.keys().filter(|name| !known.contains(&name.as_str())) {
            self.within(&format!(".{name}"), |reader| reader.report(Fault::UnknownKey));
        }
    }

    fn expect<T>(&mut self, found: Option<T>, wanted: &'static str) -> Option<T> {
        if found.is_none() {
            self.report(Fault::Unexpected { wanted });
        }
        found
    }

    fn report(&mut self, fault: Fault) {
        self.problems.push(Problem { path: self.path.clone(), fault });
    }

    fn within<T>(&mut self, step: &str, inner: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        let step = if length == 0 { step.trim_start_matches('.') } else { step };
        self.path.push_str(step);
        let result = inner(self);
        self.path.truncate(length);
        result
    }
}

/// A document in which no object has the same key twice: the second `deny_caps` would silently replace the first.
struct Unrepeated(Value);

impl<'de> Deserialize<'de> for Unrepeated {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UnrepeatedVisitor).map(Self)
    }
}

struct UnrepeatedVisitor;

impl<'de> Visitor<'de> for UnrepeatedVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(flag.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unrepeated(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, Unrepeated(value))) = members.next_entry::<String, Unrepeated>()? {
            if object.insert(name.clone(), value).is_some() {
                return Err(A::Error::custom(format_args!("the key {name:?} is written twice")));
            }
        }
        Ok(Value::Object(object))
    }
}
