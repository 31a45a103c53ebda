//! The serving role of a shard set: admission, dispatch, handlers, drain.
