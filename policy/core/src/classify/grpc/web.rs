//! gRPC-Web (grpc/grpc, doc/PROTOCOL-WEB.md): its trailers are the last frame of the body, as a
//! block of HTTP/1 fields. The base64 form of it is not looked into.

use crate::classify::BODY_MAX;

/// The flag of a frame of trailers, and that of a compressed one.
const TRAILERS: u8 = 0x80;
const COMPRESSED: u8 = 0x01;

/// The fields of this name; none where the frame of the trailers was not seen whole, in what is
/// looked at of a body.
pub(super) fn fields<'a>(body: &'a [u8], name: &'static str) -> impl Iterator<Item = &'a str> {
    trailers(body.get(..BODY_MAX).unwrap_or(body))
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter(move |(field, _)| field.trim_ascii().eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim_ascii())
}

fn trailers(body: &[u8]) -> Option<&str> {
    let mut rest = body;
    while let [flags, l1, l2, l3, l4, tail @ ..] = rest {
        let length = u32::from_be_bytes([*l1, *l2, *l3, *l4]);
        let (frame, tail) = tail.split_at_checked(usize::try_from(length).ok()?)?;
        if flags & TRAILERS != 0 {
            let is_plain = flags & COMPRESSED == 0;
            return std::str::from_utf8(frame).ok().filter(|_| is_plain);
        }
        rest = tail;
    }
    None
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(in crate::classify::grpc) fn frame(flags: u8, text: &str) -> Vec<u8> {
        let length = u32::try_from(text.len()).unwrap().to_be_bytes();
        [&[flags], &length[..], text.as_bytes()].concat()
    }

    #[test]
    fn trailers_are_found_behind_the_messages() {
        let body = [
            frame(0, "a message"),
            frame(0, ""),
            frame(TRAILERS, "Grpc-Status: 14\r\ngrpc-message:busy\r\n"),
        ]
        .concat();
        assert_eq!(fields(&body, "grpc-status").collect::<Vec<_>>(), ["14"]);
        assert_eq!(fields(&body, "grpc-message").collect::<Vec<_>>(), ["busy"]);
        assert_eq!(fields(&body, "grpc").count(), 0);
        let cut = body.get(..body.len() - 1).unwrap();
        assert_eq!(fields(cut, "grpc-status").count(), 0);
        let compressed = frame(TRAILERS | COMPRESSED, "grpc-status:14\r\n");
        assert_eq!(fields(&compressed, "grpc-status").count(), 0);
        let far = [frame(0, &"x".repeat(BODY_MAX)), body].concat();
        assert_eq!(fields(&far, "grpc-status").count(), 0);
    }

    proptest! {
        #[test]
        fn no_body_makes_the_walk_panic(body: Vec<u8>) {
            prop_assert!(fields(&body, "grpc-status").count() <= body.len());
        }
    }
}
