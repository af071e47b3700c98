//! What scenarios stand on: real brokers, the real binary, and requests as any worker sends them.

mod authority;
mod binary;
mod broker;
mod cli;
mod daemon;
mod damage;
mod dice;
mod follower;
mod house;
mod load;
mod mount;
mod proxy;
mod remains;
mod sent;
mod validity;
mod worker;

pub(crate) use authority::{Authority, Certified, Operator, credentials, written};
pub(crate) use binary::{lacuna, repository, with_each_broker};
pub(crate) use broker::{Broker, Server, current_server, free_port, servers};
pub(crate) use cli::{Cli, Ran};
pub(crate) use daemon::Daemon;
pub(crate) use damage::{
    destroy_events, flip_a_byte_of_events, flip_a_payload_byte, flip_the_last_payload_byte,
    flip_the_payload_at, set_format,
};
pub(crate) use dice::Dice;
pub(crate) use follower::{
    Fed, Follower, caught_up, everything, feed_is_journal, feed_until, jetstream_api, once_each,
};
pub(crate) use house::House;
pub(crate) use load::{Habits, Load};
pub(crate) use mount::Mount;
pub(crate) use proxy::{Proxy, Way};
pub(crate) use remains::comes_out;
pub(crate) use sent::Sent;
pub(crate) use validity::{anthropic_accepts, openai_accepts};
pub(crate) use worker::{Refused, Worker, nobody_there};
