//! Answers that would be costly to look at: what grows faster than the answer, in time or in
//! memory, would do so here.

use fusewire_core::{Field, Media, Observation, Response};

use crate::written::{Answer, NOW_MS};

/// One of each kind, with about so many bytes, and its name.
#[must_use]
pub fn answers(bytes: usize) -> Vec<(&'static str, Answer)> {
    let mut all = json(bytes);
    all.extend(xml(bytes));
    all.extend(text(bytes));
    all.extend(fields(bytes));
    all
}

/// A beginning, so many bytes of a middle that is repeated, and an end.
fn repeated(beginning: &str, middle: &str, end: &str, bytes: usize) -> Vec<u8> {
    let times = bytes.saturating_sub(beginning.len() + end.len()) / middle.len();
    [beginning, &middle.repeat(times), end]
        .concat()
        .into_bytes()
}

fn answer(profile: &'static str, status: u16, media: &str, body: Vec<u8>) -> Answer {
    let response = Response {
        headers: vec![Field {
            name: "content-type".into(),
            value: media.into(),
        }],
        body: Some(body),
        ..Response::status(status)
    };
    Answer {
        profile,
        observation: Observation::response(response, NOW_MS),
    }
}

fn json(bytes: usize) -> Vec<(&'static str, Answer)> {
    let of = |profile, beginning: &str, middle: &str, end: &str| {
        let body = repeated(beginning, middle, end, bytes);
        answer(profile, 429, "application/json", body)
    };
    vec![
        (
            "lists within lists",
            of("google-geocoding", "{\"a\":", "[", ""),
        ),
        (
            "objects within objects at a watched place",
            of("google-rpc", "{\"error\":", "{\"details\":", ""),
        ),
        (
            "many elements of a watched list",
            of("arcgis", "{\"error\":{\"details\":[", "\"x\",", "0]}}"),
        ),
        (
            "many elements that nearly are what is looked for",
            of(
                "geoserver",
                "{\"version\":1,\"exceptions\":[",
                "{\"code\":\"InvalidParameterValu\",\"text\":\"maximum memory allowe\"},",
                "0]}",
            ),
        ),
        (
            "a watched text with escapes",
            of(
                "google-geocoding",
                "{\"error_message\":\"",
                "\\u0041\\n",
                "\"}",
            ),
        ),
        (
            "a text that nobody watches, with escapes",
            of("google-geocoding", "{\"x\":\"", "\\ud83d\\ude00", "\"}"),
        ),
        (
            "a name that never ends",
            of("google-geocoding", "{\"", "\\u0061", ""),
        ),
        (
            "a number of many digits",
            of("google-geocoding", "{\"status\":", "9", "}"),
        ),
        (
            "a number with many digits behind the point",
            of("google-geocoding", "{\"status\":0.", "1", "e-9999}"),
        ),
        (
            "the same name again and again",
            of("google-geocoding", "{\"x\":1", ",\"status\":\"OK\"", "}"),
        ),
        (
            "a watched wait of many parts",
            of(
                "google-rpc",
                "{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\
                 \"details\":[{\"retryDelay\":\"",
                "1s",
                "\"}]}}",
            ),
        ),
        (
            "white space",
            of("google-geocoding", "", " \n\t", "{\"status\":\"OK\"}"),
        ),
    ]
}

fn xml(bytes: usize) -> Vec<(&'static str, Answer)> {
    let of = |beginning: &str, middle: &str, end: &str| {
        answer(
            "geoserver",
            200,
            "text/xml",
            repeated(beginning, middle, end, bytes),
        )
    };
    vec![
        (
            "elements that stay open",
            of("<ServiceExceptionReport>", "<a>", ""),
        ),
        (
            "watched elements that stay open",
            of("<ServiceExceptionReport>", "<ServiceException>", ""),
        ),
        (
            "watched elements with nearly the text",
            of(
                "<ExceptionReport>",
                "<ExceptionText>maximum memory allowe</ExceptionText>",
                "</ExceptionReport>",
            ),
        ),
        (
            "ends without beginnings",
            of("<ExceptionReport/>", "</a>", ""),
        ),
        (
            "many attributes",
            of("<ServiceExceptionReport ", "code='x' ", "/>"),
        ),
        (
            "attributes that are none",
            of("<ServiceExceptionReport ", "code code= ", "/>"),
        ),
        (
            "references within a watched text",
            of("<ServiceExceptionReport><ServiceException>", "&lt;&x;", ""),
        ),
        (
            "sections of plain text",
            of(
                "<ServiceExceptionReport><ServiceException>",
                "<![CDATA[]]>",
                "",
            ),
        ),
        (
            "entities",
            of("<!DOCTYPE a [", "<!ENTITY b '&b;&b;'>", "]><a>&b;</a>"),
        ),
        ("a comment that never ends", of("<a><!--", "--", "")),
        ("comments", of("<a>", "<!---->", "</a>")),
        ("tags that never end", of("<a>", "<", "")),
        ("what is no UTF-8", {
            let mut found = of("<a>", "xx", "</a>");
            let body = found
                .observation
                .response
                .as_mut()
                .and_then(|r| r.body.as_mut());
            for byte in body.into_iter().flatten().skip(3) {
                *byte |= 0x80;
            }
            found
        }),
    ]
}

fn text(bytes: usize) -> Vec<(&'static str, Answer)> {
    let stream = |middle: &str| {
        let body = repeated("", middle, "", bytes);
        answer("anthropic", 200, "text/event-stream", body)
    };
    let of = |profile, status, middle: &str| {
        answer(
            profile,
            status,
            "text/plain",
            repeated("", middle, "", bytes),
        )
    };
    vec![
        ("small events", stream("data:0\n\n")),
        (
            "small events that are watched",
            stream("event:error\ndata:{\n\n"),
        ),
        (
            "small events with nearly the data",
            stream("event:error\ndata:{\"error\":{\"type\":\"overloaded_erro\"}}\n\n"),
        ),
        ("an event of many lines", stream("data:0\n")),
        ("lines without an event", stream("\r")),
        (
            "phrases that nearly are there",
            of("osm-tiles", 429, "usage polic "),
        ),
        (
            "the first letter of phrases",
            of("overpass", 200, "rate_limite"),
        ),
        (
            "many words before a wait",
            of("openai", 429, "retry after in after for at least about "),
        ),
        (
            "waits that nearly are told",
            of("openai", 429, "try again in "),
        ),
        ("an event with a long name", {
            let body = repeated("event:", "error", "\ndata:0\n\n", bytes);
            answer("anthropic", 200, "text/event-stream", body)
        }),
        ("empty frames of gRPC-Web", {
            let body = vec![0; bytes];
            answer("grpc", 200, "application/grpc-web+proto", body)
        }),
        ("trailers of gRPC-Web", {
            let lines = repeated("", "grpc-statu:1\r\n", "", bytes);
            let length = u32::try_from(lines.len()).unwrap_or(u32::MAX).to_be_bytes();
            let body = [&[0x80], &length[..], &lines].concat();
            answer("grpc", 200, "application/grpc-web+proto", body)
        }),
        ("a status of gRPC-Web behind a long message", {
            let length = u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes();
            let message = [&[0], &length[..], &vec![b'x'; bytes]].concat();
            let end = b"\x80\0\0\0\x10grpc-status: 14\n";
            let body = [&message, &end[..]].concat();
            answer("grpc", 200, "application/grpc-web+proto", body)
        }),
        ("a page whose end is far", {
            let body = repeated("<nav>", "x", "</html>", bytes);
            let mut page = answer("http", 200, "", body);
            page.observation.expect = Media::Xml;
            page
        }),
        ("a page without a media type", {
            let mut page = of("json-api", 200, "</htm ");
            if let Some(response) = &mut page.observation.response {
                response.headers.clear();
            }
            page.observation.expect = Media::Json;
            page
        }),
    ]
}

fn fields(bytes: usize) -> Vec<(&'static str, Answer)> {
    let of = |profile, name: &str, value: &str, times: usize| {
        let field = Field {
            name: name.into(),
            value: value.into(),
        };
        let response = Response {
            headers: vec![field; times],
            ..Response::status(429)
        };
        Answer {
            profile,
            observation: Observation::response(response, NOW_MS),
        }
    };
    let long = |name: &str, middle: &str| {
        let value = repeated("", middle, "", bytes);
        of("llm", name, &String::from_utf8_lossy(&value), 1)
    };
    let grpc = |name: &str, middle: &str| {
        let mut answer = long(name, middle);
        answer.profile = "grpc";
        let status = |name: &str, value: &str| Field {
            name: name.into(),
            value: value.into(),
        };
        if let Some(response) = &mut answer.observation.response {
            response.trailers.append(&mut response.headers);
            response.trailers.push(status("grpc-status", "8"));
        }
        answer
    };
    vec![
        ("many fields", of("cloudflare", "x-a", "b", bytes / 32)),
        (
            "many waits that are none",
            of("llm", "retry-after", "soon", bytes / 32),
        ),
        (
            "many resets",
            of("llm", "x-ratelimit-reset", "-1", bytes / 32),
        ),
        (
            "many limits",
            of("http", "ratelimit", "\"a\";r=1;t=1", bytes / 32),
        ),
        ("a long wait", long("retry-after", "9")),
        ("a long list of waits", long("retry-after", "x,")),
        (
            "a long list of limits",
            long("ratelimit", "\"a\";r=1;t=1, "),
        ),
        ("a long reset", long("x-ratelimit-reset", "day, ")),
        (
            "long details of gRPC",
            grpc("grpc-status-details-bin", "GgA,"),
        ),
        (
            "one long detail of gRPC",
            grpc("grpc-status-details-bin", "GgAa"),
        ),
        ("a long message of gRPC", grpc("grpc-message", "%6d%65%73")),
    ]
}
