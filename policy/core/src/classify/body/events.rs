//! The events of a `text/event-stream` (WHATWG HTML, section 9.2), as far as they are complete.

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamEvent<'a> {
    /// Its name; `message` where it has none.
    pub(crate) name: &'a [u8],
    /// Its data: of several lines with line feeds in between.
    pub(crate) data: std::borrow::Cow<'a, [u8]>,
}

/// The events of a body. One that breaks off is none, and so is one without data.
pub(crate) fn events(body: &[u8]) -> impl Iterator<Item = StreamEvent<'_>> {
    let mut left = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    std::iter::from_fn(move || {
        let mut name: &[u8] = b"message";
        let mut data: Option<std::borrow::Cow<'_, [u8]>> = None;
        loop {
            let (line, rest) = line(left)?;
            left = rest;
            if line.is_empty() {
                match data.take() {
                    Some(data) => return Some(StreamEvent { name, data }),
                    None => name = b"message",
                }
                continue;
            }
            let colon = line.iter().position(|b| *b == b':').unwrap_or(line.len());
            let (field, value) = line.split_at_checked(colon)?;
            let value = value.strip_prefix(b":").unwrap_or(value);
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match field {
                b"event" if !value.is_empty() => name = value,
                b"data" => match &mut data {
                    None => data = Some(value.into()),
                    Some(data) => {
                        let data = data.to_mut();
                        data.push(b'\n');
                        data.extend_from_slice(value);
                    }
                },
                _ => {}
            }
        }
    })
}

/// The first line that has an end, without it, and what follows.
fn line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|b| matches!(b, b'\n' | b'\r'))?;
    let (line, rest) = text.split_at_checked(end)?;
    let rest = rest
        .strip_prefix(b"\r\n")
        .or_else(|| rest.get(1..))
        .unwrap_or_default();
    Some((line, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(body: &str) -> Vec<(String, String)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        events(body.as_bytes())
            .map(|event| (text(event.name), text(&event.data)))
            .collect()
    }

    #[test]
    fn events_have_names_and_data_whatever_their_line_ends() {
        let body = ": ping\n\nevent: error\ndata: {\"a\":\ndata:1}\n\ndata: x\r\n\r\nevent: y\r\r\
                    event:z\rdata\r\revent: cut\ndata: off";
        assert_eq!(
            of(body),
            [
                ("error".into(), "{\"a\":\n1}".into()),
                ("message".into(), "x".into()),
                ("z".into(), String::new()),
            ]
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_and_no_event_is_longer_than_the_body(body: Vec<u8>) {
            for event in events(&body) {
                prop_assert!(event.data.len() <= body.len());
            }
        }
    }
}
