//! tshark reads real captures and our vectors as we do.
