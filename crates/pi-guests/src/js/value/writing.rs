//! Builds values of the engine.

use rquickjs::{Array, Ctx, IntoJs, Object, String as Text, TypedArray, Value};
use serde::{
    Serialize, Serializer,
    ser::{
        SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple, SerializeTupleStruct,
        SerializeTupleVariant,
    },
};

use pi_extproto::connector::data;

use super::Unfit;

/// The name under which bytes describe themselves to serde.
const BYTES: &str = "Written";

/// Builds one value.
#[derive(Clone)]
pub(super) struct Writer<'a, 'js> {
    ctx: &'a Ctx<'js>,
}

impl<'a, 'js> Writer<'a, 'js> {
    pub(super) fn new(ctx: &'a Ctx<'js>) -> Self {
        Self { ctx }
    }

    fn number(self, number: f64) -> Value<'js> {
        Value::new_number(self.ctx.clone(), number)
    }

    fn named(&self, name: &str, value: Value<'js>) -> Result<Value<'js>, Unfit> {
        let object = Object::new(self.ctx.clone())?;
        object.set(name, value)?;
        Ok(object.into_value())
    }

    fn object(&self, wrapped: Option<&'static str>) -> Result<Members<'a, 'js>, Unfit> {
        Ok(Members { writer: self.clone(), object: Object::new(self.ctx.clone())?, key: None, wrapped })
    }

    fn array(&self, wrapped: Option<&'static str>) -> Result<Items<'a, 'js>, Unfit> {
        Ok(Items { writer: self.clone(), array: Array::new(self.ctx.clone())?, next: 0, wrapped })
    }
}

macro_rules! numbers {
    ($($name:ident: $number:ty),*) => {
        $(fn $name(self, number: $number) -> Result<Value<'js>, Unfit> {
            Ok(self.number(f64::from(number)))
        })*
    };
}

impl<'a, 'js> Serializer for Writer<'a, 'js> {
    type Ok = Value<'js>;
    type Error = Unfit;
    type SerializeSeq = Items<'a, 'js>;
    type SerializeTuple = Items<'a, 'js>;
    type SerializeTupleStruct = Items<'a, 'js>;
    type SerializeTupleVariant = Items<'a, 'js>;
    type SerializeMap = Members<'a, 'js>;
    type SerializeStruct = Members<'a, 'js>;
    type SerializeStructVariant = Members<'a, 'js>;

    numbers!(serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_u8: u8, serialize_u16: u16,
        serialize_u32: u32, serialize_f32: f32);

    fn serialize_bool(self, truth: bool) -> Result<Value<'js>, Unfit> {
        Ok(Value::new_bool(self.ctx.clone(), truth))
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers of JavaScript are doubles")]
    fn serialize_i64(self, number: i64) -> Result<Value<'js>, Unfit> {
        Ok(self.number(number as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers of JavaScript are doubles")]
    fn serialize_u64(self, number: u64) -> Result<Value<'js>, Unfit> {
        Ok(self.number(number as f64))
    }

    fn serialize_f64(self, number: f64) -> Result<Value<'js>, Unfit> {
        Ok(self.number(number))
    }

    fn serialize_char(self, letter: char) -> Result<Value<'js>, Unfit> {
        self.serialize_str(letter.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<Value<'js>, Unfit> {
        Ok(Text::from_str(self.ctx.clone(), text)?.into_value())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Value<'js>, Unfit> {
        Ok(TypedArray::<u8>::new_copy(self.ctx.clone(), bytes)?.into_value())
    }

    fn serialize_none(self) -> Result<Value<'js>, Unfit> {
        Ok(Value::new_null(self.ctx.clone()))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value<'js>, Unfit> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value<'js>, Unfit> {
        self.serialize_none()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Value<'js>, Unfit> {
        self.serialize_none()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Value<'js>, Unfit> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<Value<'js>, Unfit> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value<'js>, Unfit> {
        let inner = value.serialize(self.clone())?;
        match (name, variant) {
            (BYTES, "text") => self.serialize_bytes(inner.get::<String>()?.as_bytes()),
            (BYTES, "base64") => {
                let text: String = inner.get()?;
                let bytes = data::decode(&text).map_err(|fault| Unfit::Said(fault.to_string()))?;
                Ok(TypedArray::<u8>::new_copy(self.ctx.clone(), bytes)?.into_js(self.ctx)?)
            }
            _ => self.named(variant, inner),
        }
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'a, 'js>, Unfit> {
        self.array(None)
    }

    fn serialize_tuple(self, _: usize) -> Result<Items<'a, 'js>, Unfit> {
        self.array(None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Items<'a, 'js>, Unfit> {
        self.array(None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Items<'a, 'js>, Unfit> {
        self.array(Some(variant))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members<'a, 'js>, Unfit> {
        self.object(None)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members<'a, 'js>, Unfit> {
        self.object(None)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Members<'a, 'js>, Unfit> {
        self.object(Some(variant))
    }
}

/// A list that is being built.
pub(super) struct Items<'a, 'js> {
    writer: Writer<'a, 'js>,
    array: Array<'js>,
    next: usize,
    wrapped: Option<&'static str>,
}

impl<'js> Items<'_, 'js> {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unfit> {
        self.array.set(self.next, value.serialize(self.writer.clone())?)?;
        self.next += 1;
        Ok(())
    }

    fn done(self) -> Result<Value<'js>, Unfit> {
        let array = self.array.into_value();
        self.wrapped.map_or(Ok(array.clone()), |name| self.writer.named(name, array))
    }
}

macro_rules! lists {
    ($($list:ident::$push:ident),*) => {
        $(impl<'js> $list for Items<'_, 'js> {
            type Ok = Value<'js>;
            type Error = Unfit;

            fn $push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unfit> {
                self.push(value)
            }

            fn end(self) -> Result<Value<'js>, Unfit> {
                self.done()
            }
        })*
    };
}

lists!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

/// An object that is being built.
pub(super) struct Members<'a, 'js> {
    writer: Writer<'a, 'js>,
    object: Object<'js>,
    key: Option<Value<'js>>,
    wrapped: Option<&'static str>,
}

impl<'js> Members<'_, 'js> {
    fn member<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Unfit> {
        Ok(self.object.set(name, value.serialize(self.writer.clone())?)?)
    }

    fn done(self) -> Result<Value<'js>, Unfit> {
        let object = self.object.into_value();
        self.wrapped.map_or(Ok(object.clone()), |name| self.writer.named(name, object))
    }
}

impl<'js> SerializeMap for Members<'_, 'js> {
    type Ok = Value<'js>;
    type Error = Unfit;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Unfit> {
        self.key = Some(key.serialize(self.writer.clone())?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unfit> {
        let key = self.key.take().ok_or_else(|| Unfit::Said("a value without a key".to_owned()))?;
        Ok(self.object.set(key, value.serialize(self.writer.clone())?)?)
    }

    fn end(self) -> Result<Value<'js>, Unfit> {
        self.done()
    }
}

impl<'js> SerializeStruct for Members<'_, 'js> {
    type Ok = Value<'js>;
    type Error = Unfit;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Unfit> {
        self.member(name, value)
    }

    fn end(self) -> Result<Value<'js>, Unfit> {
        self.done()
    }
}

impl<'js> SerializeStructVariant for Members<'_, 'js> {
    type Ok = Value<'js>;
    type Error = Unfit;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Unfit> {
        self.member(name, value)
    }

    fn end(self) -> Result<Value<'js>, Unfit> {
        self.done()
    }
}
