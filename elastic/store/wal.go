package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
)

// SQLite ends its write-ahead log silently at the first frame that does not match its sum. That
// is right for a write that never finished, and wrong for one that was acknowledged: the store
// would silently return to an older state. The log's index, which a killed daemon leaves
// behind, says how many frames were synced and acknowledged. It is compared with the log here.
// After a power loss the index may be old or torn; then it claims less, or nothing.
//
//	bytes 0 to 47     the index's header: 0 format, 12 whether it is set up, 16 frames in the log,
//	                  32 to 39 the log's salt, 40 to 47 the sum of what is before
//	bytes 48 to 95    the same again
//	bytes 96 to 99    frames that are in the database already
const (
	indexSize   = 48 // of one of the two copies at its start
	indexFilled = 96 // offset: frames that are in the database already
	logHeader   = 32
	frameHeader = 24
	walFormat   = 3007000
)

// index is the relevant part of the log's index. Formats: https://www.sqlite.org/walformat.html
// and https://www.sqlite.org/fileformat.html#the_write_ahead_log.
type index struct {
	frames, filled uint32 // number of frames in the log, and of those that are in the database already
	salt           []byte // of the log that the index belongs to: 8 bytes, new whenever the log starts over
}

// checkLog returns an ErrCorrupt if the log beside the database lacks something that was
// acknowledged. Another program that has the file open, and is just closing it, removes first the
// index and then the log: so a result counts only if the index is unchanged afterwards. Without an
// index, as after an orderly end, there is nothing to check. It MUST be called BEFORE SQLite opens
// the file, and changes nothing.
func checkLog(path string) error {
	for {
		claim, ok, err := readIndex(path + "-shm")
		if err != nil || !ok {
			return explain("check", path, err)
		}
		err = claim.check(path)
		if !errors.Is(err, ErrCorrupt) {
			return err
		}
		now, ok, again := readIndex(path + "-shm")
		if again != nil || ok && now.same(claim) {
			return errors.Join(err, again)
		}
	}
}

// same reports whether nothing was written, and no log begun, between two reads of the index.
func (x index) same(y index) bool {
	return x.frames == y.frames && x.filled == y.filled && bytes.Equal(x.salt, y.salt)
}

// check compares the log with the claim. A missing log is no damage if all of its frames are in the
// database.
func (x index) check(path string) error {
	f, err := os.Open(path + "-wal")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if x.filled < x.frames {
			err = damaged(sortLog, "the write-ahead log is gone, with %d pages that were not in the database yet", x.frames-x.filled)
			return explain("check", path, err)
		}
		return nil
	case err != nil:
		return explain("check", path, err)
	}
	defer f.Close()
	return explain("check", path, x.holds(f))
}

// readIndex reads the index; ok is false if it makes no valid claim. SQLite writes its header
// twice, so that a reader sees when it is being changed. It is in the processor's byte order,
// because it is shared memory.
func readIndex(path string) (x index, ok bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return x, false, nil
	} else if err != nil {
		return x, false, err
	}
	defer f.Close()
	raw := make([]byte, indexFilled+4)
	if _, err := io.ReadFull(f, raw); err != nil {
		return x, false, ignoreEOF(err)
	}
	one, two := raw[:indexSize], raw[indexSize:2*indexSize]
	native := binary.NativeEndian
	a, b := logSum(native, one[:40], 0, 0)
	if !bytes.Equal(one, two) || native.Uint32(one) != walFormat || one[12] != 1 ||
		a != native.Uint32(one[40:]) || b != native.Uint32(one[44:]) {
		return x, false, nil
	}
	x = index{native.Uint32(one[16:]), native.Uint32(raw[indexFilled:]), one[32:40]}
	return x, x.frames > 0, nil
}

// ignoreEOF returns the error of a read, nil if the file was only too short: the caller says what
// that means.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// holds checks that the log has all frames of the claim, each matching its sum. Every sum continues
// that of the frame before, the first that of the header: so frames cannot have been exchanged
// either. The last bit of the first number is the byte order of the sums; the numbers themselves
// are big-endian. Frames beyond the claim are left to SQLite.
func (x index) holds(log io.Reader) error {
	header := make([]byte, logHeader)
	if _, err := io.ReadFull(log, header); err != nil {
		return errors.Join(ignoreEOF(err), damaged(sortLog, "the write-ahead log is cut off; it had %d pages", x.frames))
	}
	big := binary.BigEndian
	var order binary.ByteOrder = binary.LittleEndian
	if big.Uint32(header)&1 == 1 {
		order = big
	}
	a, b := logSum(order, header[:24], 0, 0)
	size := big.Uint32(header[8:])
	if big.Uint32(header)&^1 != 0x377f0682 || big.Uint32(header[4:]) != walFormat || size < 512 || size > 65536 ||
		a != big.Uint32(header[24:]) || b != big.Uint32(header[28:]) {
		return damaged(sortLog, "the write-ahead log's header does not match its sum; it had %d pages", x.frames)
	}
	if !bytes.Equal(header[16:24], x.salt) {
		return nil // the index belongs to an earlier log: it was not written back before a power loss
	}
	frame := make([]byte, frameHeader+int(size))
	for n := range x.frames {
		if _, err := io.ReadFull(log, frame); err != nil {
			return errors.Join(ignoreEOF(err), damaged(sortLog, "the write-ahead log is cut off at page %d of %d", n+1, x.frames))
		}
		a, b = logSum(order, frame[:8], a, b)
		a, b = logSum(order, frame[frameHeader:], a, b)
		if !bytes.Equal(frame[8:16], x.salt) || a != big.Uint32(frame[16:]) || b != big.Uint32(frame[20:]) {
			return damaged(sortLog, "page %d of %d in the write-ahead log does not match its sum", n+1, x.frames)
		}
	}
	return nil
}

// logSum is SQLite's checksum, continued from a and b; len(raw) MUST be a multiple of 8. Unlike a
// sum of bytes it depends on their order. The log has it in the byte order that its header names,
// the index in that of the processor.
func logSum(order binary.ByteOrder, raw []byte, a, b uint32) (uint32, uint32) {
	for ; len(raw) >= 8; raw = raw[8:] {
		a += order.Uint32(raw) + b
		b += order.Uint32(raw[4:]) + a
	}
	return a, b
}
