//! A way to the broker on which things go wrong when told so: bytes come late, stand still in one
//! direction, end in one direction, or all connections break. It counts what it did.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What the proxy takes from the kernel at once. Small, as are its buffers there: what stands still
/// should stand at the sender, not in the proxy.
const CHUNK: usize = 8 << 10;

/// A direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// From those who connect to the broker.
    Up,
    /// From the broker to them.
    Down,
}

/// What happens to the bytes now. Connections end when a number grows that counts ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Course {
    delay: Duration,
    stalled: [bool; 2],
    cuts: u64,
    half_closes: [u64; 2],
}

/// What the proxy did so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Done {
    /// Connections that it let through.
    pub(crate) accepted: u64,
    /// Pieces that came late because it was told so.
    pub(crate) delayed: u64,
    /// Pieces that stood still, upwards and downwards.
    pub(crate) held: [u64; 2],
    /// Directions of connections that ended because all were cut, or this one closed.
    pub(crate) cut: u64,
    pub(crate) half_closed: [u64; 2],
}

#[derive(Debug, Default)]
struct Counts {
    accepted: AtomicU64,
    delayed: AtomicU64,
    held: [AtomicU64; 2],
    cut: AtomicU64,
    half_closed: [AtomicU64; 2],
}

/// A proxy in front of a broker. It ends with its connections when this is dropped.
#[derive(Debug)]
pub(crate) struct Proxy {
    port: u16,
    course: watch::Sender<Course>,
    counts: Arc<Counts>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Begins to listen, and lets everything through.
    pub(crate) async fn before(broker: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (course, follows) = watch::channel(Course::default());
        let counts = Arc::<Counts>::default();
        let task = tokio::spawn(accept(listener, broker, follows, Arc::clone(&counts)));
        Self { port, course, counts, task }
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Every piece comes later by this much, in both directions.
    pub(crate) fn delay(&self, by: Duration) {
        self.course.send_modify(|course| course.delay = by);
    }

    /// Holds the bytes of one direction until it flows again. The other goes on.
    pub(crate) fn stall(&self, way: Way) {
        self.course.send_modify(|course| course.stalled[way as usize] = true);
    }

    /// Lets everything through again, and what was held first.
    pub(crate) fn flow(&self) {
        self.course.send_modify(|course| {
            (course.delay, course.stalled) = (Duration::ZERO, [false; 2]);
        });
    }

    /// Ends one direction of every connection that there is: its reader sees the end, its writer
    /// nothing.
    pub(crate) fn half_close(&self, way: Way) {
        self.course.send_modify(|course| course.half_closes[way as usize] += 1);
    }

    /// Breaks every connection that there is. What was held is gone.
    pub(crate) fn cut(&self) {
        self.course.send_modify(|course| course.cuts += 1);
    }

    /// What it did so far.
    pub(crate) fn done(&self) -> Done {
        let counts = &self.counts;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Done {
            accepted: read(&counts.accepted),
            delayed: read(&counts.delayed),
            held: [read(&counts.held[0]), read(&counts.held[1])],
            cut: read(&counts.cut),
            half_closed: [read(&counts.half_closed[0]), read(&counts.half_closed[1])],
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
        self.cut();
    }
}

async fn accept(
    listener: TcpListener,
    broker: u16,
    course: watch::Receiver<Course>,
    counts: Arc<Counts>,
) {
    while let Ok((client, _)) = listener.accept().await {
        // A broker that is away: whoever connects is told so by the end of the connection.
        let Ok(server) = reach(broker).await else { continue };
        counts.accepted.fetch_add(1, Ordering::Relaxed);
        // Small messages must not wait for each other: the broker's own sockets do not, either.
        client.set_nodelay(true).unwrap();
        server.set_nodelay(true).unwrap();
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        // Both directions know the course as it was when the connection began.
        let begun = *course.borrow();
        for (way, from, to) in
            [(Way::Up, from_client, to_server), (Way::Down, from_server, to_client)]
        {
            let pump = Pump { way, begun, course: course.clone(), counts: Arc::clone(&counts) };
            tokio::spawn(pump.run(from, to));
        }
    }
}

async fn reach(broker: u16) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(CHUNK as u32)?;
    socket.connect(([127, 0, 0, 1], broker).into()).await
}

/// One direction of one connection.
struct Pump {
    way: Way,
    begun: Course,
    course: watch::Receiver<Course>,
    counts: Arc<Counts>,
}

impl Pump {
    /// Carries bytes until a side or the proxy ends it. The halves go then: the receiver sees the end of
    /// this direction, and both sides that of the connection once the other direction has ended, too.
    async fn run(mut self, from: OwnedReadHalf, to: OwnedWriteHalf) {
        let (way, begun) = (self.way as usize, self.begun);
        let mut course = self.course.clone();
        let told = |course: &Course| {
            course.cuts != begun.cuts || course.half_closes[way] != begun.half_closes[way]
        };
        tokio::select! {
            // Where it ends and flows again at once, what was held must be gone.
            biased;
            _ = course.wait_for(told) => {}
            () = self.carry(from, to) => {}
        }
        let course = *self.course.borrow();
        if course.cuts != begun.cuts {
            self.counts.cut.fetch_add(1, Ordering::Relaxed);
        } else if told(&course) {
            self.counts.half_closed[way].fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn carry(&mut self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let way = self.way as usize;
        let mut chunk = vec![0; CHUNK];
        while let Ok(count @ 1..) = from.read(&mut chunk).await {
            let course = *self.course.borrow_and_update();
            if !course.delay.is_zero() {
                self.counts.delayed.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(course.delay).await;
            }
            if self.course.borrow().stalled[way] {
                self.counts.held[way].fetch_add(1, Ordering::Relaxed);
                if self.course.wait_for(|course| !course.stalled[way]).await.is_err() {
                    return;
                }
            }
            if to.write_all(&chunk[..count]).await.is_err() {
                return;
            }
        }
    }
}
