//! What a leaf does in a thread of its own, while others run theirs.

use std::sync::Arc;
use std::thread;

use tokio::sync::oneshot;

use super::leaf::LeafError;
use crate::leaves::{Order, Todo};

/// Does it in a thread of its own. When this is dropped, the thread is told to stop at once.
pub(super) async fn in_thread<T: Send + 'static>(
    order: &Arc<Order>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, LeafError> {
    struct Told(Arc<Order>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.0.give(Todo::Stop);
        }
    }
    let (done, over) = oneshot::channel();
    let thread = thread::Builder::new().name("leaf".to_owned()).spawn(move || {
        // Nobody may wait for it any more.
        let _ = done.send(work());
    });
    thread.map_err(LeafError::NoThread)?;
    let _told = Told(Arc::clone(order));
    over.await.map_err(|_| LeafError::ThreadEnded("leaf"))
}
