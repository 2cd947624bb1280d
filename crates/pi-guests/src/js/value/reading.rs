//! Reads values of the engine.

use rquickjs::{Array, Filter, Object, Type, Value, function::This, object::ObjectKeysIter};
use serde::{
    Deserializer,
    de::{
        DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
        value::StringDeserializer,
    },
    forward_to_deserialize_any,
};

use pi_extproto::connector::data;

use super::{DEPTH, Unfit};
use crate::js::raw;

/// A value of the engine, as serde reads it.
pub(crate) struct Reader<'js> {
    value: Value<'js>,
    depth: usize,
    /// Members of the outermost object in which a text stands for bytes.
    bytes_in: &'static [&'static str],
    /// Whether a text stands for bytes here.
    is_bytes: bool,
}

/// The largest whole number up to which doubles count without gaps.
const LAST: f64 = 9_007_199_254_740_992.0;

impl<'js> Reader<'js> {
    pub(crate) fn new(value: Value<'js>) -> Self {
        Self { value, depth: 0, bytes_in: &[], is_bytes: false }
    }

    /// The same, where the named members hold bytes: a text, or an array of bytes.
    pub(crate) fn with_bytes_in(value: Value<'js>, bytes_in: &'static [&'static str]) -> Self {
        Self { value, depth: 0, bytes_in, is_bytes: false }
    }

    fn inside(&self, value: Value<'js>) -> Result<Self, Unfit> {
        if self.depth >= DEPTH {
            return Err(Unfit::Deep);
        }
        Ok(Self { value, depth: self.depth + 1, bytes_in: &[], is_bytes: false })
    }

    /// What `JSON.stringify` would look at in its place.
    fn plain(value: Value<'js>) -> Result<Value<'js>, Unfit> {
        let Some(object) = value.as_object() else { return Ok(value) };
        if value.is_array() || value.is_function() {
            return Ok(value);
        }
        if let Some(convert) = object.get::<_, Value<'js>>("toJSON")?.into_function() {
            return Ok(convert.call((This(object.clone()),))?);
        }
        Ok(value)
    }
}

/// Whether `JSON.stringify` would leave the member out.
fn is_left_out(value: &Value<'_>) -> bool {
    match value.type_of() {
        Type::Undefined | Type::Uninitialized | Type::Function | Type::Constructor | Type::Symbol => true,
        Type::Null
        | Type::Bool
        | Type::Int
        | Type::Float
        | Type::String
        | Type::Array
        | Type::Promise
        | Type::Exception
        | Type::Proxy
        | Type::Object
        | Type::Module
        | Type::BigInt
        | Type::Unknown => false,
    }
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Unfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        let is_bytes = self.is_bytes;
        // Where bytes are wanted a Buffer is one, whatever its `toJSON` makes of it.
        let value = match is_bytes && raw::is_bytes(&self.value) {
            true => self.value.clone(),
            false => Self::plain(self.value.clone())?,
        };
        if is_left_out(&value) || value.is_null() {
            return visitor.visit_unit();
        }
        if let Some(truth) = value.as_bool() {
            return visitor.visit_bool(truth);
        }
        if let Some(whole) = value.as_int() {
            return if whole < 0 {
                visitor.visit_i64(whole.into())
            } else {
                visitor.visit_u64(whole.unsigned_abs().into())
            };
        }
        if let Some(number) = value.as_float() {
            return visit_number(number, visitor);
        }
        if let Some(text) = value.as_string() {
            let text = raw::text(text);
            return if is_bytes { visit_tagged("text", text, visitor) } else { visitor.visit_string(text) };
        }
        if let Some(bytes) = raw::bytes(&value) {
            return match String::from_utf8(bytes) {
                Ok(text) => visit_tagged("text", text, visitor),
                Err(other) => visit_tagged("base64", data::encode(other.as_bytes()), visitor),
            };
        }
        if let Some(array) = value.as_array() {
            return visitor.visit_seq(Items { array: array.clone(), next: 0, outside: self.inside(value.clone())? });
        }
        match value.as_object() {
            Some(object) => {
                let keys = object.own_keys(Filter::new().string().enum_only());
                let bytes_in = self.bytes_in;
                let outside = self.inside(value.clone())?;
                visitor.visit_map(Members { object: object.clone(), keys, value: None, outside, bytes_in })
            }
            None => Err(Unfit::Said(format!("a {} has no form outside of JavaScript", value.type_name()))),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        if is_left_out(&self.value) || self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Unfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unfit> {
        if self.is_bytes || self.value.is_object() && raw::bytes(&self.value).is_some() {
            let bytes = match self.value.as_string() {
                Some(text) => raw::text(text).into_bytes(),
                None => raw::bytes(&self.value).ok_or_else(|| Unfit::Said("expected a text or bytes".to_owned()))?,
            };
            let (name, text) = match String::from_utf8(bytes) {
                Ok(text) => ("text", text),
                Err(other) => ("base64", data::encode(other.as_bytes())),
            };
            return visitor.visit_enum(Tagged { name, text });
        }
        if let Some(name) = self.value.as_string() {
            return visitor.visit_enum(IntoDeserializer::<Unfit>::into_deserializer(raw::text(name)));
        }
        let Some(object) = self.value.as_object() else { return Err(Unfit::Said("expected a word".to_owned())) };
        let mut keys = object.own_keys::<String>(Filter::new().string().enum_only());
        let name =
            keys.next().transpose()?.ok_or_else(|| Unfit::Said("expected an object with one member".to_owned()))?;
        let value = self.inside(object.get(name.as_str())?)?;
        visitor.visit_enum(Named { name, value })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

fn visit_number<'de, V: Visitor<'de>>(number: f64, visitor: V) -> Result<V::Value, Unfit> {
    if !number.is_finite() {
        return visitor.visit_unit();
    }
    if number.fract() == 0.0 && number.abs() <= LAST {
        #[expect(clippy::cast_possible_truncation, reason = "a whole number of at most 53 bits")]
        let whole = number as i64;
        return match u64::try_from(whole) {
            Ok(whole) => visitor.visit_u64(whole),
            Err(_) => visitor.visit_i64(whole),
        };
    }
    visitor.visit_f64(number)
}

/// Bytes in the one form that they have in the protocol.
fn visit_tagged<'de, V: Visitor<'de>>(name: &'static str, text: String, visitor: V) -> Result<V::Value, Unfit> {
    visitor.visit_map(serde::de::value::MapDeserializer::new(std::iter::once((name, text))))
}

struct Items<'js> {
    array: Array<'js>,
    next: usize,
    outside: Reader<'js>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Unfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Unfit> {
        if self.next >= self.array.len() {
            return Ok(None);
        }
        let value = self.array.get(self.next)?;
        self.next += 1;
        seed.deserialize(self.outside.inside(value)?).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        // An array may say that it is longer than memory.
        Some(self.array.len().saturating_sub(self.next).min(4096))
    }
}

struct Members<'js> {
    object: Object<'js>,
    keys: ObjectKeysIter<'js, String>,
    value: Option<Reader<'js>>,
    outside: Reader<'js>,
    bytes_in: &'static [&'static str],
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = Unfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Unfit> {
        for key in self.keys.by_ref() {
            let key = key?;
            let value: Value<'_> = self.object.get(key.as_str())?;
            if is_left_out(&value) {
                continue;
            }
            let mut reader = self.outside.inside(value)?;
            reader.is_bytes = self.bytes_in.contains(&key.as_str()) && !reader.value.is_array();
            self.value = Some(reader);
            let key: StringDeserializer<Unfit> = key.into_deserializer();
            return seed.deserialize(key).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Unfit> {
        let value = self.value.take().ok_or_else(|| Unfit::Said("a value without a key".to_owned()))?;
        seed.deserialize(value)
    }
}

/// A variant and what is in it.
struct Named<'js> {
    name: String,
    value: Reader<'js>,
}

impl<'de, 'js> EnumAccess<'de> for Named<'js> {
    type Error = Unfit;
    type Variant = Reader<'js>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Reader<'js>), Unfit> {
        let name: StringDeserializer<Unfit> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self.value))
    }
}

impl<'de> VariantAccess<'de> for Reader<'_> {
    type Error = Unfit;

    fn unit_variant(self) -> Result<(), Unfit> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Unfit> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Unfit> {
        self.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Unfit> {
        self.deserialize_any(visitor)
    }
}

/// Bytes, for whoever asks for the variant in which they are written.
struct Tagged {
    name: &'static str,
    text: String,
}

impl<'de> EnumAccess<'de> for Tagged {
    type Error = Unfit;
    type Variant = TaggedText;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, TaggedText), Unfit> {
        let name: serde::de::value::StrDeserializer<'static, Unfit> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, TaggedText(self.text)))
    }
}

struct TaggedText(String);

impl<'de> VariantAccess<'de> for TaggedText {
    type Error = Unfit;

    fn unit_variant(self) -> Result<(), Unfit> {
        Err(Unfit::Said("bytes are not a word".to_owned()))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Unfit> {
        let text: StringDeserializer<Unfit> = self.0.into_deserializer();
        seed.deserialize(text)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Unfit> {
        Err(Unfit::Said("bytes are not a list".to_owned()))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, Unfit> {
        Err(Unfit::Said("bytes are not an object".to_owned()))
    }
}
