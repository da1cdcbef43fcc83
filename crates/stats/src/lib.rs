//! Transactions become distributions, rates, queue depths and heat maps
