//! Numbers, lists and choices.

use std::collections::VecDeque;

use super::{Reader, State, StateError, Writer};

impl State for u128 {
    fn put(&self, out: &mut Writer) {
        let mut left = *self;
        while left >= 0x80 {
            out.bytes.push(left as u8 | 0x80);
            left >>= 7;
        }
        out.bytes.push(left as u8);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let mut value = 0u128;
        for shift in (0..u128::BITS).step_by(7) {
            let byte = from.byte()?;
            let bits = u128::from(byte & 0x7F);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(from.no("number of 128 bits"))
    }
}

macro_rules! unsigned {
    ($($number:ty),+) => {$(
        impl State for $number {
            fn put(&self, out: &mut Writer) {
                (*self as u128).put(out);
            }

            fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
                u128::take(from)?.try_into().map_err(|_| from.no(concat!("number of type ", stringify!($number))))
            }
        }
    )+};
}

unsigned!(u64, u32, u16, u8, usize);

impl State for i64 {
    /// Zigzag: small ones of either sign are short.
    fn put(&self, out: &mut Writer) {
        ((self << 1) ^ (self >> 63)).cast_unsigned().put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let bits = u64::take(from)?;
        Ok((bits >> 1).cast_signed() ^ -(bits & 1).cast_signed())
    }
}

impl State for bool {
    fn put(&self, out: &mut Writer) {
        u8::from(*self).put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        match u8::take(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(from.no("yes or no")),
        }
    }
}

impl<T: State> State for Option<T> {
    fn put(&self, out: &mut Writer) {
        self.is_some().put(out);
        self.iter().for_each(|value| value.put(out));
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        if bool::take(from)? { T::take(from).map(Some) } else { Ok(None) }
    }
}

impl<T: State> State for Box<T> {
    fn put(&self, out: &mut Writer) {
        (**self).put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        T::take(from).map(Box::new)
    }
}

impl<T: State> State for Vec<T> {
    fn put(&self, out: &mut Writer) {
        self.len().put(out);
        self.iter().for_each(|value| value.put(out));
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        (0..from.length()?).map(|_| T::take(from)).collect()
    }
}

impl<T: State> State for VecDeque<T> {
    fn put(&self, out: &mut Writer) {
        self.len().put(out);
        self.iter().for_each(|value| value.put(out));
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Vec::take(from).map(Self::from)
    }
}

impl<T: State, const N: usize> State for [T; N] {
    fn put(&self, out: &mut Writer) {
        self.iter().for_each(|value| value.put(out));
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let all: Vec<T> = (0..N).map(|_| T::take(from)).collect::<Result<_, _>>()?;
        all.try_into().map_err(|_| from.no("list"))
    }
}

impl<A: State, B: State> State for (A, B) {
    fn put(&self, out: &mut Writer) {
        self.0.put(out);
        self.1.put(out);
    }

    fn take(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok((A::take(from)?, B::take(from)?))
    }
}
