//! News of a run under way as a stream of server-sent events, until it has ended or the browser goes away.

use std::sync::Arc;
use std::time::Duration;

use flowloom::view::{Followed, News, Shelf};
use http_body_util::BodyExt;
use http_body_util::channel::{Channel, Sender};
use hyper::body::Bytes;
use tokio::sync::OwnedSemaphorePermit;

use crate::routes::Body;

/// Streams at the same time; further ones are refused.
pub const MOST_STREAMS: usize = 16;

/// Between two looks at the file of a run, which is replaced about once a second.
const EVERY: Duration = Duration::from_millis(200);

/// Looks after which something is sent in any case, so that a browser that went away is noticed.
const QUIET_LOOKS: u32 = 50;

/// Events that wait for a slow browser.
const WAITING: usize = 2;

/// A stream of what is new of a run. `place` is given back when it ends.
pub(crate) fn stream(shelf: Arc<Shelf>, followed: Followed, place: OwnedSemaphorePermit) -> Body {
    let (sender, body) = Channel::new(WAITING);
    tokio::spawn(async move {
        send(shelf, followed, sender).await;
        drop(place);
    });
    body.boxed()
}

async fn send(shelf: Arc<Shelf>, mut followed: Followed, mut sender: Sender<Bytes>) {
    let mut quiet = 0;
    loop {
        let asked = Arc::clone(&shelf);
        let looked = tokio::task::spawn_blocking(move || {
            let news = asked.news(&mut followed);
            (news, followed)
        });
        let Ok((Ok(news), known)) = looked.await else { return };
        followed = known;
        let event = match &news {
            News::Said(object) => Some(event("observation", object)),
            News::Ended(object) => Some(event("end", object)),
            News::Nothing => (quiet == QUIET_LOOKS).then(|| Bytes::from_static(b":\n\n")),
        };
        quiet = if event.is_some() { 0 } else { quiet + 1 };
        if let Some(event) = event
            && sender.send_data(event).await.is_err()
        {
            return;
        }
        if matches!(news, News::Ended(_)) {
            return;
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// An event; JSON of one line has no end of a line in it.
fn event(name: &str, object: &[u8]) -> Bytes {
    let mut text = format!("event: {name}\ndata: ").into_bytes();
    text.extend_from_slice(object);
    text.extend_from_slice(b"\n\n");
    text.into()
}
