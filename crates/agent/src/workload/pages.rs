//! Closed loop: users who fetch pages, one object after another, and read them.
//!
//! Source: the HTTP model of 3GPP TR 36.814 and 3GPP2 C.R1002 (main object, parsing, embedded
//! objects, reading).
//! Differs: embedded objects are fetched `parallel` at a time, as browsers do. The engine gives each object a
//! connection of its own, or keeps connections. Absent: pipelining.

use super::{PagesConfig, SizeLaw, Times};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use trunkline_units::{RandomStream, Time, NEVER};

/// An object that a user requests now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The user who requests it.
    pub user: u32,
    /// Size of the object [B].
    pub bytes: u64,
}

/// A page that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedPage {
    /// When its first request was made.
    pub started: Time,
    /// Application bytes of all its objects [B].
    pub bytes: u64,
    /// Objects, the main one included.
    pub objects: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UserActivity {
    Reading,
    Main,
    Parsing,
    Embedded,
}

#[derive(Clone, Debug)]
struct User {
    doing: UserActivity,
    started: Time,
    bytes: u64,
    objects: u64,
    /// Embedded objects not requested yet, and requested but not complete.
    objects_left: u64,
    open: u64,
}

/// Users of one flow.
#[derive(Clone, Debug)]
pub struct Pages {
    parallel: u64,
    main: SizeLaw,
    embedded: SizeLaw,
    objects: SizeLaw,
    reading: Times,
    parsing: Times,
    users: Vec<User>,
    /// When waiting users continue.
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
        let idle = User {
            doing: UserActivity::Reading,
            started: 0,
            bytes: 0,
            objects: 0,
            objects_left: 0,
            open: 0,
        };
        let mut pages = Self {
            parallel: u64::from(config.parallel.max(1)),
            main: SizeLaw::new(&config.main),
            embedded: SizeLaw::new(&config.embedded),
            objects: SizeLaw::new(&config.objects),
            reading: config.reading,
            parsing: config.parsing,
            users: vec![idle; config.users as usize],
            due: BinaryHeap::new(),
            times,
            sizes,
        };
        for user in 0..config.users {
            pages.wait(user, start, pages.reading);
        }
        pages
    }

    /// When the next user continues; [`NEVER`] while all wait for objects.
    #[must_use]
    pub fn next_at(&self) -> Time {
        self.due.peek().map_or(NEVER, |Reverse((at, _))| *at)
    }

    /// The time of [`Pages::next_at`] has come: adds the new requests to `requests`. True: a page began.
    pub fn on_timer(&mut self, now: Time, requests: &mut Vec<Request>) -> bool {
        let Some(Reverse((_, user))) = self.due.pop() else { return false };
        let user_state = &mut self.users[user as usize];
        if user_state.doing == UserActivity::Reading {
            let bytes = self.main.bytes(&mut self.sizes);
            let left = self.objects.count(&mut self.sizes);
            *user_state = User {
                doing: UserActivity::Main,
                started: now,
                bytes,
                objects: 1 + left,
                objects_left: left,
                open: 1,
            };
            requests.push(Request { user, bytes });
            return true;
        }
        user_state.doing = UserActivity::Embedded;
        while user_state.objects_left > 0 && user_state.open < self.parallel {
            requests.push(make_request(user_state, user, &self.embedded, &mut self.sizes));
        }
        false
    }

    /// An object of `user` is complete: adds the next request to `requests`.
    pub fn on_object(
        &mut self,
        user: u32,
        now: Time,
        requests: &mut Vec<Request>,
    ) -> Option<CompletedPage> {
        let user_state = &mut self.users[user as usize];
        user_state.open -= 1;
        if user_state.doing == UserActivity::Main && user_state.objects_left > 0 {
            user_state.doing = UserActivity::Parsing;
            self.wait(user, now, self.parsing);
            return None;
        }
        if user_state.objects_left > 0 {
            requests.push(make_request(user_state, user, &self.embedded, &mut self.sizes));
        }
        if user_state.open > 0 {
            return None;
        }
        user_state.doing = UserActivity::Reading;
        let done = CompletedPage {
            started: user_state.started,
            bytes: user_state.bytes,
            objects: user_state.objects,
        };
        self.wait(user, now, self.reading);
        Some(done)
    }

    fn wait(&mut self, user: u32, now: Time, time: Times) {
        let span = time.draw(&mut self.times);
        self.due.push(Reverse((now.saturating_add(span), user)));
    }
}

fn make_request(user: &mut User, number: u32, law: &SizeLaw, sizes: &mut RandomStream) -> Request {
    let bytes = law.bytes(sizes);
    user.objects_left -= 1;
    user.open += 1;
    user.bytes += bytes;
    Request { user: number, bytes }
}
