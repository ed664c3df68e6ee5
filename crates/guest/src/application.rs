//! Applications that keep a connection: they write at given times, or ask and answer in turn.

use crate::transfers::UNFINISHED;

/// Writes of an application to a connection: where each ends, and its times.
#[derive(Debug, Default)]
pub struct WrittenData {
    ends: Vec<u64>, // [B], rising
    began: Vec<u64>,
    arrived: Vec<u64>, // of the first of them
}

impl WrittenData {
    /// A write of so many bytes begins at a time of the clock.
    pub fn begin_write(&mut self, bytes: u64, now: u64) {
        self.ends.push(self.ends.last().copied().unwrap_or(0) + bytes);
        self.began.push(now);
    }

    /// End of the write that the byte at a place belongs to; none if nothing is written there.
    pub fn end_of_write(&self, place: u64) -> Option<u64> {
        self.ends.get(self.ends.partition_point(|&end| end <= place)).copied()
    }

    /// The receiver has read so many bytes.
    pub fn note_arrival(&mut self, read: u64, now: u64) {
        let complete = self.ends.partition_point(|&end| end <= read);
        self.arrived.resize(complete, now);
    }

    /// Writes that have arrived in full.
    pub fn arrived_writes(&self) -> usize {
        self.arrived.len()
    }

    /// Begin and arrival of each write since `zero`, and no time of an acknowledgement.
    pub fn to_records(&self, zero: u64) -> Vec<u8> {
        let arrived =
            |index: usize| self.arrived.get(index).map_or(UNFINISHED, |at| at.saturating_sub(zero));
        let times = self
            .began
            .iter()
            .enumerate()
            .map(|(index, began)| [began.saturating_sub(zero), arrived(index), UNFINISHED]);
        times.flatten().flat_map(u64::to_le_bytes).collect()
    }
}

/// A request and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ExchangeStep {
    pause_ns: u64, // from the answer before it
    request_bytes: u64,
    answer_bytes: u64,
}

/// A user who asks over the connection of one flow, is answered over that of another, and pauses.
#[derive(Debug)]
pub struct RequestResponse {
    /// Place of the flow of requests, and of that of answers.
    pub requests: usize,
    /// See `requests`.
    pub answers: usize,
    steps: Vec<ExchangeStep>,
    asked: usize,
    answered: usize,
    waits: bool,
}

impl RequestResponse {
    /// Steps are records of pause \[ns\], bytes of the request and of the answer (u64).
    ///
    /// # Errors
    /// The records end within one.
    pub fn new(requests: usize, answers: usize, records: &[u8]) -> Result<Self, String> {
        let records = records.chunks_exact(24);
        if !records.remainder().is_empty() {
            return Err("the steps end within a record".to_owned());
        }
        let steps = records.map(|record| {
            let number =
                |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("8 bytes"));
            ExchangeStep { pause_ns: number(0), request_bytes: number(8), answer_bytes: number(16) }
        });
        let steps = steps.collect();
        Ok(Self { requests, answers, steps, asked: 0, answered: 0, waits: false })
    }

    /// Pause before the next request, once the answer before it has come \[ns\].
    pub fn pause(&mut self, arrived_answers: usize) -> Option<u64> {
        if self.waits || arrived_answers < self.asked {
            return None;
        }
        let step = self.steps.get(self.asked)?;
        self.waits = true;
        Some(step.pause_ns)
    }

    /// Bytes of the request that is due.
    pub fn ask(&mut self) -> u64 {
        self.waits = false;
        self.asked += 1;
        self.steps[self.asked - 1].request_bytes
    }

    /// Bytes of the answer to a request that has come.
    pub fn answer(&mut self, arrived_requests: usize) -> Option<u64> {
        if arrived_requests <= self.answered {
            return None;
        }
        self.answered += 1;
        Some(self.steps[self.answered - 1].answer_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_has_arrived_when_its_last_byte_was_read() {
        let mut data = WrittenData::default();
        data.begin_write(1000, 5);
        data.begin_write(500, 6);
        let ends = [0, 999, 1000, 1499, 1500].map(|place| data.end_of_write(place));
        assert_eq!(ends, [Some(1000), Some(1000), Some(1500), Some(1500), None]);
        data.note_arrival(999, 10);
        assert_eq!(data.arrived_writes(), 0);
        data.note_arrival(1499, 11);
        data.note_arrival(1500, 12);
        let records = data.to_records(4);
        let times: Vec<u64> = records
            .chunks_exact(8)
            .map(|value| u64::from_le_bytes(value.try_into().expect("8 bytes")))
            .collect();
        assert_eq!(times, [1, 7, UNFINISHED, 2, 8, UNFINISHED]);
    }

    #[test]
    fn a_user_asks_again_a_pause_after_the_answer() {
        let numbers: [u64; 6] = [100, 300, 9000, 50, 301, 9001];
        let records: Vec<u8> = numbers.iter().flat_map(|value| value.to_le_bytes()).collect();
        assert!(RequestResponse::new(0, 1, &records[..47]).is_err());
        let mut user = RequestResponse::new(0, 1, &records).expect("two steps");
        assert_eq!((user.pause(0), user.pause(0)), (Some(100), None));
        assert_eq!(user.ask(), 300);
        // The request is under way, then the answer.
        assert_eq!((user.pause(0), user.answer(0)), (None, None));
        assert_eq!((user.answer(1), user.answer(1), user.pause(0)), (Some(9000), None, None));
        assert_eq!((user.pause(1), user.ask()), (Some(50), 301));
        assert_eq!((user.answer(2), user.pause(2)), (Some(9001), None));
    }
}
