//! nats
