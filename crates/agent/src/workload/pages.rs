//! Closed loop: users who fetch pages, one object after another, and read them.
//!
//! Source: the HTTP model of 3GPP TR 36.814 and 3GPP2 C.R1002 (main object, parsing, embedded
//! objects, reading).
//! Differs: embedded objects are fetched `parallel` at a time, as browsers do. Each object has a
//! connection of its own. Absent: persistent connections, pipelining.

use super::{Law, PagesConfig, Times};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use trunkline_units::{RandomStream, Time, NEVER};

/// An object that a user asks for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Who asks.
    pub user: u32,
    /// Size of the object [B].
    pub bytes: u64,
}

/// A page that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// When its first request was made.
    pub started: Time,
    /// Application bytes of all its objects [B].
    pub bytes: u64,
    /// Objects, the main one included.
    pub objects: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Reading,
    Main,
    Parsing,
    Embedded,
}

#[derive(Clone, Debug)]
struct User {
    doing: Doing,
    started: Time,
    bytes: u64,
    objects: u64,
    /// Embedded objects not asked for yet, and asked for but not complete.
    left: u64,
    open: u64,
}

/// Users of one flow.
#[derive(Clone, Debug)]
pub struct Pages {
    parallel: u64,
    main: Law,
    embedded: Law,
    objects: Law,
    reading: Times,
    parsing: Times,
    users: Vec<User>,
    /// When users who wait go on.
    due: BinaryHeap<Reverse<(Time, u32)>>,
    times: RandomStream,
    sizes: RandomStream,
}

impl Pages {
    /// Users who begin to read at `start`, with a random stream for times and one for sizes.
    #[must_use]
    pub fn new(
        config: &PagesConfig,
        start: Time,
        times: RandomStream,
        sizes: RandomStream,
    ) -> Self {
        let idle =
            User { doing: Doing::Reading, started: 0, bytes: 0, objects: 0, left: 0, open: 0 };
        let mut made = Self {
            parallel: u64::from(config.parallel.max(1)),
            main: Law::new(&config.main),
            embedded: Law::new(&config.embedded),
            objects: Law::new(&config.objects),
            reading: config.reading,
            parsing: config.parsing,
            users: vec![idle; config.users as usize],
            due: BinaryHeap::new(),
            times,
            sizes,
        };
        for user in 0..config.users {
            made.wait(user, start, made.reading);
        }
        made
    }

    /// When the next user goes on; [`NEVER`] while all wait for objects.
    #[must_use]
    pub fn next_at(&self) -> Time {
        self.due.peek().map_or(NEVER, |Reverse((at, _))| *at)
    }

    /// The instant [`Pages::next_at`] named has come: what is asked for goes to `requests`.
    /// True: a page was begun.
    pub fn on_timer(&mut self, now: Time, requests: &mut Vec<Request>) -> bool {
        let Some(Reverse((_, user))) = self.due.pop() else { return false };
        let its = &mut self.users[user as usize];
        if its.doing == Doing::Reading {
            let bytes = self.main.bytes(&mut self.sizes);
            let left = self.objects.count(&mut self.sizes);
            *its =
                User { doing: Doing::Main, started: now, bytes, objects: 1 + left, left, open: 1 };
            requests.push(Request { user, bytes });
            return true;
        }
        its.doing = Doing::Embedded;
        while its.left > 0 && its.open < self.parallel {
            requests.push(ask(its, user, &self.embedded, &mut self.sizes));
        }
        false
    }

    /// An object that `user` asked for is complete: what is asked for next goes to `requests`.
    pub fn on_object(&mut self, user: u32, now: Time, requests: &mut Vec<Request>) -> Option<Done> {
        let its = &mut self.users[user as usize];
        its.open -= 1;
        if its.doing == Doing::Main && its.left > 0 {
            its.doing = Doing::Parsing;
            self.wait(user, now, self.parsing);
            return None;
        }
        if its.left > 0 {
            requests.push(ask(its, user, &self.embedded, &mut self.sizes));
        }
        if its.open > 0 {
            return None;
        }
        its.doing = Doing::Reading;
        let done = Done { started: its.started, bytes: its.bytes, objects: its.objects };
        self.wait(user, now, self.reading);
        Some(done)
    }

    fn wait(&mut self, user: u32, now: Time, time: Times) {
        let span = time.draw(&mut self.times);
        self.due.push(Reverse((now.saturating_add(span), user)));
    }
}

fn ask(user: &mut User, number: u32, law: &Law, sizes: &mut RandomStream) -> Request {
    let bytes = law.bytes(sizes);
    user.left -= 1;
    user.open += 1;
    user.bytes += bytes;
    Request { user: number, bytes }
}
