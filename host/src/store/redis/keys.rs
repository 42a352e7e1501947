//! Which keys there are, for those who operate a fleet. No policy and no call asks for this.

use std::ops::ControlFlow;

use redis::cmd;

use super::RedisStore;
use crate::store::StoreError;

/// How many keys the server looks at for one answer: some 0.3 ms of its time, for which nobody else
/// is answered.
const PAGE: usize = 1_000;

impl RedisStore {
    /// Visits the keys that begin so, in no order, until `visit` breaks off. One that is there all
    /// the while is visited at least once, and maybe more often; one that comes or goes meanwhile,
    /// maybe not at all. Keys that are no text are left out.
    ///
    /// By `SCAN`, page by page, so that the server goes on answering others. Cancel-safe.
    ///
    /// # Errors
    /// See [`StoreError`]. What was visited until then was there.
    pub async fn each_key(
        &self,
        begins: &str,
        mut visit: impl FnMut(String) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let pattern = format!("{}*", literally(begins));
        let mut cursor = 0u64;
        loop {
            let (next, keys) = self.page(cursor, &pattern).await?;
            for key in keys {
                let Ok(key) = String::from_utf8(key) else {
                    continue;
                };
                if visit(key).is_break() {
                    return Ok(());
                }
            }
            if next == 0 {
                return Ok(());
            }
            cursor = next;
        }
    }

    /// One page of the keys, and where the next one begins; zero: there is none.
    async fn page(&self, cursor: u64, pattern: &str) -> Result<(u64, Vec<Vec<u8>>), StoreError> {
        let mut scan = cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(pattern);
        scan.arg("COUNT").arg(PAGE);
        let named = pattern.to_owned();
        let answer = self.start(
            move || format!("scan {named:?}"),
            |mut connection| async move {
                let answer = connection.send_packed_command(&scan).await?;
                Ok(redis::from_redis_value(answer.extract_error()?)?)
            },
        );
        answer.wait().await
    }
}

/// A text as a pattern of Redis that matches it alone.
fn literally(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '^' | '-' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::literally;

    #[test]
    fn what_keys_begin_with_is_taken_literally() {
        assert_eq!(literally("fusewire:s:{"), "fusewire:s:{");
        assert_eq!(literally("a*b?[c]\\"), "a\\*b\\?\\[c\\]\\\\");
    }
}
