//! What the training rows in the leaves that rows reach say: which rows they are and how often they count,
//! quantiles and curves of their targets, and which rows share leaves. Nothing here knows a forest: leaves
//! are numbers of nodes.

pub mod counts;
pub mod curves;
pub mod proximities;
pub mod quantiles;
pub mod query;
pub mod rows;
pub mod targets;
