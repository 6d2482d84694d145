package munge

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// The protocol of munged's socket, version 4 (m_msg.h of munge 0.5.15). Numbers are
// big-endian; one message each way on a connection:
//
//	header     magic 4, version 1, type 1, retry 1, length of the body 4
//	encode     cipher 1, MAC 1, compression 1, realm *1, life 4, reader's uid 4, gid 4, payload *4
//	encoded    error 1, its words *1, credential *4
//	decode     credential *4
//	decoded    error 1, its words *1, cipher 1, MAC 1, compression 1, realm *1, life 4, address *1,
//	           encoded at 4, decoded at 4, uid 4, gid 4, reader's uid 4, gid 4, payload *4
//
// *1 and *4 are a length of so many bytes and as many bytes. Strings end with a NUL,
// which their length counts.
const (
	magic    = 0x00606D4B
	protocol = 4
	// headerBytes is the length of a header.
	headerBytes = 11
	// maxAnswer bounds the body of an answer, in bytes: a credential or payload, and the other
	// fields.
	maxAnswer = MaxCredential + 1<<10
)

// kind is the type of a message.
type kind byte

const (
	encodeRequest kind = 2 + iota
	encodeAnswer
	decodeRequest
	decodeAnswer
)

const (
	cipherNone, cipherAES128 = 0, 4
	macDefault               = 1
	zipNone                  = 0
	// anyID as the reader's uid or gid means no restriction.
	anyID = 0xFFFFFFFF
)

// message returns a request with its header. retry is how often it was sent before; munged
// needs it, so that a credential it decoded for a lost answer is not a replay.
func message(k kind, retry byte, body []byte) []byte {
	out := make([]byte, 0, headerBytes+len(body))
	out = binary.BigEndian.AppendUint32(out, magic)
	out = append(out, protocol, byte(k), retry)
	out = binary.BigEndian.AppendUint32(out, uint32(len(body)))
	return append(out, body...)
}

// sealing returns the body of an encode request.
func sealing(payload []byte, reader uint32) []byte {
	out := []byte{cipherAES128, macDefault, zipNone, 0}
	for _, n := range []uint32{uint32(Life.Seconds()), reader, anyID, uint32(len(payload))} {
		out = binary.BigEndian.AppendUint32(out, n)
	}
	return append(out, payload...)
}

// opening returns the body of a decode request.
func opening(credential string) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(credential)+1))
	return append(append(out, credential...), 0)
}

// errForeign: the other side uses another protocol.
var errForeign = errors.New("sluice speaks version 4 of munged's protocol, that of munge 0.5")

// bodyLength returns the length of the body from the header of an answer of that kind.
func bodyLength(header [headerBytes]byte, want kind) (int, error) {
	length := binary.BigEndian.Uint32(header[7:])
	switch {
	case binary.BigEndian.Uint32(header[:]) != magic:
		return 0, fmt.Errorf("%w: what answers is not munged; %w", ErrMissing, errForeign)
	case header[4] != protocol:
		return 0, fmt.Errorf("%w: munged speaks version %d of its protocol; %w", ErrMissing, header[4], errForeign)
	case kind(header[5]) != want:
		return 0, fmt.Errorf("%w: munged answered a message of type %d, not %d", ErrMissing, header[5], want)
	case length > maxAnswer:
		return 0, fmt.Errorf("%w: munged answered %d bytes, more than %d", ErrRefused, length, maxAnswer)
	}
	return int(length), nil
}

// parseSealed reads the body of an encoded answer.
func parseSealed(body []byte) (string, error) {
	f := fields{rest: body}
	code, words := f.byte(), f.piece()
	credential := f.block()
	switch {
	case !f.whole():
		return "", fmt.Errorf("%w: munged's answer of %d bytes is malformed", ErrMissing, len(body))
	case code != 0:
		return "", fmt.Errorf("%w: munged: %s", ErrMissing, complaint(code, words))
	}
	return strings.TrimSuffix(string(credential), "\x00"), nil
}

// opened is a credential as munged describes it.
type opened struct {
	Credential
	cipher byte
	reader uint32 // uid that can read it, or anyID
}

// parseOpened decodes the body of a decode answer. If munged refused the credential its other
// fields do not count.
func parseOpened(body []byte) (opened, error) {
	f := fields{rest: body}
	code, words := f.byte(), f.piece()
	var o opened
	o.cipher = f.byte()
	f.take(2) // MAC and compression
	f.piece() // realm
	f.take(4) // life
	address := f.piece()
	f.take(8) // times
	o.UID, o.GID, o.reader = f.number(), f.number(), f.number()
	f.take(4) // gid that can read it, a further condition that munged has checked
	o.Payload = f.block()
	if !f.whole() || len(address) != 0 && len(address) != 4 {
		return opened{}, fmt.Errorf("%w: munged's answer of %d bytes is malformed", ErrMissing, len(body))
	}
	if code != 0 {
		return opened{}, fmt.Errorf("%w: %s", cause(code), complaint(code, words))
	}
	if at, ok := netip.AddrFromSlice(address); ok {
		o.Host = at.String()
	}
	return o, nil
}
