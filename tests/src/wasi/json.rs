//! Values of the component model in JSON, by their types alone.
//!
//! A record is an object with the names of its fields, an option null or the value, an enum its
//! name, a variant `"case"` or `{"case": payload}`, a list an array. An option of an option, which
//! JSON could not tell apart, is in no interface here.

use serde_json::{Map, Value, json};
use wasmtime::component::Val;
use wasmtime::component::types::Type;

/// The value of this type that a JSON value is.
///
/// # Errors
/// A sentence that says what was found where something else is wanted.
pub fn read(json: &Value, ty: &Type) -> Result<Val, String> {
    let unlike = || format!("{json} is no {ty:?}");
    let number = || json.as_u64().ok_or_else(unlike);
    let text = || json.as_str().map(str::to_owned).ok_or_else(unlike);
    Ok(match ty {
        Type::Bool => Val::Bool(json.as_bool().ok_or_else(unlike)?),
        Type::U8 => Val::U8(number()?.try_into().map_err(|_| unlike())?),
        Type::U16 => Val::U16(number()?.try_into().map_err(|_| unlike())?),
        Type::U32 => Val::U32(number()?.try_into().map_err(|_| unlike())?),
        Type::U64 => Val::U64(number()?),
        Type::String => Val::String(text()?),
        Type::Enum(_) => Val::Enum(text()?),
        Type::Option(_) if json.is_null() => Val::Option(None),
        Type::Option(inner) => Val::Option(Some(Box::new(read(json, &inner.ty())?))),
        Type::List(inner) => {
            let items = json.as_array().ok_or_else(unlike)?.iter();
            Val::List(
                items
                    .map(|item| read(item, &inner.ty()))
                    .collect::<Result<_, _>>()?,
            )
        }
        Type::Record(record) => {
            let fields = record.fields().map(|field| {
                let value = json
                    .get(field.name)
                    .ok_or_else(|| format!("{json} has no `{}`", field.name))?;
                Ok((field.name.to_owned(), read(value, &field.ty)?))
            });
            Val::Record(fields.collect::<Result<_, String>>()?)
        }
        Type::Variant(variant) => {
            let (name, payload) = case(json).ok_or_else(unlike)?;
            let case = variant
                .cases()
                .find(|case| case.name == name)
                .ok_or_else(unlike)?;
            let payload = match (payload, case.ty) {
                (Some(payload), Some(ty)) => Some(Box::new(read(payload, &ty)?)),
                (None, None) => None,
                _ => return Err(unlike()),
            };
            Val::Variant(name.to_owned(), payload)
        }
        _ => return Err(format!("{ty:?} has no form in JSON")),
    })
}

/// A variant's case and payload.
fn case(json: &Value) -> Option<(&str, Option<&Value>)> {
    match json {
        Value::String(name) => Some((name, None)),
        Value::Object(object) if object.len() == 1 => {
            let (name, payload) = object.iter().next()?;
            Some((name, Some(payload)))
        }
        _ => None,
    }
}

/// A value as JSON.
///
/// # Errors
/// It has no form there: it is a resource, say.
pub fn write(value: &Val) -> Result<Value, String> {
    Ok(match value {
        Val::Bool(yes) => json!(yes),
        Val::U8(number) => json!(number),
        Val::U16(number) => json!(number),
        Val::U32(number) => json!(number),
        Val::U64(number) => json!(number),
        Val::String(text) | Val::Enum(text) => json!(text),
        Val::Option(None) => Value::Null,
        Val::Option(Some(inner)) => write(inner)?,
        Val::List(items) => Value::Array(items.iter().map(write).collect::<Result<_, _>>()?),
        Val::Record(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| Ok((name.clone(), write(value)?)));
            Value::Object(fields.collect::<Result<Map<_, _>, String>>()?)
        }
        Val::Variant(name, None) => json!(name),
        Val::Variant(name, Some(payload)) => json!({ name: write(payload)? }),
        other => return Err(format!("{other:?} has no form in JSON")),
    })
}
