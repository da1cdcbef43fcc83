//! Types of the blocks that are read and written here, and codes of their options, with the specification's names.
//!
//! Spec: draft-ietf-opsawg-pcapng-03 3.5, 4

/// The same in both byte orders.
pub(crate) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
pub(crate) const INTERFACE_DESCRIPTION: u32 = 1;
pub(crate) const PACKET: u32 = 2;
pub(crate) const SIMPLE_PACKET: u32 = 3;
pub(crate) const INTERFACE_STATISTICS: u32 = 5;
pub(crate) const ENHANCED_PACKET: u32 = 6;

/// The byte-order magic of a section header.
pub(crate) const BYTE_ORDER: u32 = 0x1a2b_3c4d;

pub(crate) const OPT_ENDOFOPT: u16 = 0;
pub(crate) const OPT_COMMENT: u16 = 1;
/// Of a section header: the program that wrote the section.
pub(crate) const SHB_USERAPPL: u16 = 4;
/// Of an interface description: its name, the resolution of its clock, and the offset of its times, s.
pub(crate) const IF_NAME: u16 = 2;
pub(crate) const IF_TSRESOL: u16 = 9;
pub(crate) const IF_TSOFFSET: u16 = 14;
/// Of an enhanced packet: packets of its interface that were lost since the one before.
pub(crate) const EPB_DROPCOUNT: u16 = 4;
/// Of interface statistics: start and end of the capture, packets lost by the interface and by the system.
pub(crate) const ISB_STARTTIME: u16 = 2;
pub(crate) const ISB_ENDTIME: u16 = 3;
pub(crate) const ISB_IFDROP: u16 = 5;
pub(crate) const ISB_OSDROP: u16 = 7;
