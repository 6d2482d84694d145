package munge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Errors to test for with errors.Is.
var (
	// ErrMissing: munged does not answer, or its answer is not understood.
	ErrMissing = errors.New("no munge")
	// ErrRefused: the credential is not accepted here: forged, expired, replayed, addressed to
	// another account, or readable by all.
	ErrRefused = errors.New("credential refused")
)

// Bounds of one credential.
const (
	// MaxPayload is the most that Seal takes, in bytes.
	MaxPayload = 32 << 10
	// MaxCredential is the longest credential that Open looks at, in bytes.
	MaxCredential = 48 << 10
	// Life is how long a credential can be read. It is also how far two clocks may differ.
	Life = time.Minute
)

// Credential is a credential as munged describes it.
type Credential struct {
	UID, GID uint32 // of the user that made it
	// Host is the address of the node where it was made, "" if not known. munged vouches for
	// it; no name service was asked.
	Host    string
	Payload []byte
}

// Tool asks the munged of this machine. It is safe for concurrent use.
type Tool struct {
	sockets []string // paths to try; the first that exists is munged's
}

// New returns a Tool for the munged that listens on the socket; "" means the usual paths of
// munge's packages. munged need not run yet.
func New(socket string) (*Tool, error) {
	if socket == "" {
		return &Tool{sockets: usual}, nil
	}
	if len(socket) > maxPath {
		return nil, fmt.Errorf("%w: the path of munged's socket is longer than %d bytes: %s", ErrMissing, maxPath, socket)
	}
	return &Tool{sockets: []string{socket}}, nil
}

// Seal returns a credential of the calling process's user that only the user reader can open,
// for as long as Life. The payload is encrypted and has at most MaxPayload bytes.
func (t *Tool) Seal(ctx context.Context, payload []byte, reader uint32) (string, error) {
	if len(payload) > MaxPayload {
		return "", fmt.Errorf("%w: %d bytes are more than a credential holds (%d)", ErrRefused, len(payload), MaxPayload)
	}
	if reader == anyID {
		return "", fmt.Errorf("%w: uid %d stands for all users", ErrRefused, reader)
	}
	body, err := t.ask(ctx, encodeRequest, sealing(payload, reader))
	if err != nil {
		return "", err
	}
	credential, err := parseSealed(body)
	if err != nil {
		return "", err
	}
	if !WellFormed(credential) {
		return "", fmt.Errorf("%w: munged answered something that is no credential", ErrMissing)
	}
	return credential, nil
}

// Open asks munged whether the credential is valid, not read before, and encrypted for the user
// reader alone. It returns the credential's user and payload. The process MUST run as reader. A
// credential that is not accepted is ErrRefused.
func (t *Tool) Open(ctx context.Context, credential string, reader uint32) (Credential, error) {
	if !WellFormed(credential) {
		return Credential{}, fmt.Errorf("%w: it is malformed", ErrRefused)
	}
	body, err := t.ask(ctx, decodeRequest, opening(credential))
	if err != nil {
		return Credential{}, err
	}
	o, err := parseOpened(body)
	switch {
	case err != nil:
		return Credential{}, err
	case o.cipher == cipherNone:
		return Credential{}, fmt.Errorf("%w: it is not encrypted", ErrRefused)
	case o.reader == anyID || o.reader != reader:
		return Credential{}, fmt.Errorf("%w: it is not made for uid %d alone", ErrRefused, reader)
	}
	return o.Credential, nil
}

// WellFormed reports whether the text has the form of a credential. It needs no exchange with
// munged.
func WellFormed(credential string) bool {
	if len(credential) > MaxCredential {
		return false
	}
	body, ok := strings.CutPrefix(credential, "MUNGE:")
	body, closed := strings.CutSuffix(body, ":")
	if !ok || !closed || body == "" {
		return false
	}
	for i := range len(body) {
		if !base64Byte[body[i]] {
			return false
		}
	}
	return true
}

// base64Byte are the bytes that a credential may contain.
var base64Byte = func() (is [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") {
		is[c] = true
	}
	return is
}()
