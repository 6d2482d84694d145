package wire

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/elastic/control/munge"
)

// Munge is what the API over TCP needs of munge; munge.Tool implements it. Its errors are
// munge.ErrMissing or munge.ErrRefused.
type Munge interface {
	// Seal returns a credential of the calling user that only reader can open.
	Seal(ctx context.Context, payload []byte, reader uint32) (string, error)
	// Open reads a credential that was made for reader alone.
	Open(ctx context.Context, credential string, reader uint32) (munge.Credential, error)
}

// The exchange over TCP, one per connection:
//
//	server: "sluiced 1 " nonce "\n"          16 random bytes in hex, for this connection only
//	client: munge credential "\n"            whose payload is a letter
//	server: "sealed\n" nonce ciphertext      AES-256-GCM under the letter's key, or
//	        "plain\n" {"error":{...}}        before the letter could be read
//
// The letter holds the whole request and the connection's nonce. So no part of it can be
// changed, and a letter sent again, to this daemon, another one or a restarted one, has the
// wrong nonce. Only the daemon's account can read the letter, so an answer encrypted with its
// key comes from the daemon and is meant for the caller.
const (
	Greeting    = "sluiced 1 "
	MarkSealed  = "sealed\n"
	MarkPlain   = "plain\n"
	NonceBytes  = 16
	KeyBytes    = 32
	MaxGreeting = 64
	MaxPlain    = 4 << 10
)

// MaxBody bounds a request's body and MaxHeader its header, or path, in bytes.
const (
	MaxBody   = 16 << 10
	MaxHeader = 8 << 10
)

// Letter is a request as a credential carries it.
type Letter struct {
	Nonce  string `json:"nonce"`
	Key    []byte `json:"key"`
	Method string `json:"method"`
	Path   string `json:"path"`
	Body   []byte `json:"body,omitempty"`
}

// NewNonce returns the random number that the letter of a connection has to contain.
func NewNonce() string {
	var raw [NonceBytes]byte
	_, _ = rand.Read(raw[:]) // never fails
	return hex.EncodeToString(raw[:])
}

// ReadLetter decodes a credential's payload. It fails if the nonce is not the connection's.
func ReadLetter(payload []byte, nonce string) (Letter, error) {
	var l Letter
	if err := json.Unmarshal(payload, &l); err != nil {
		return Letter{}, errors.New("the credential does not contain a request to sluiced")
	}
	switch {
	case l.Nonce != nonce:
		return Letter{}, errors.New("the request was made for another connection: replayed?")
	case len(l.Key) != KeyBytes:
		return Letter{}, errors.New("the request has no key for the answer")
	case l.Method != "GET" && l.Method != "POST", !strings.HasPrefix(l.Path, "/v1/"), len(l.Path) > MaxHeader, len(l.Body) > MaxBody:
		return Letter{}, errors.New("sluiced has no such request")
	}
	return l, nil
}

// Seal encrypts an answer with the letter's key; nonce is the connection's.
func Seal(key []byte, nonce string, status int, body []byte) ([]byte, error) {
	aead, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	page := append([]byte(fmt.Sprintf("%03d", status)), body...)
	out := make([]byte, aead.NonceSize(), aead.NonceSize()+len(page)+aead.Overhead())
	_, _ = rand.Read(out)
	return aead.Seal(out, out, page, []byte(nonce)), nil
}

// Unseal decrypts an answer. It fails if the answer was changed or is for another connection.
func Unseal(key []byte, nonce string, sealed []byte) (int, []byte, error) {
	aead, err := newAEAD(key)
	if err != nil {
		return 0, nil, err
	}
	if len(sealed) < aead.NonceSize() {
		return 0, nil, errors.New("the answer is cut short")
	}
	page, err := aead.Open(nil, sealed[:aead.NonceSize()], sealed[aead.NonceSize():], []byte(nonce))
	if err != nil || len(page) < 3 {
		return 0, nil, errors.New("the answer is cut short, or not the daemon's")
	}
	status, err := strconv.Atoi(string(page[:3]))
	if err != nil || status < 200 || status > 599 {
		return 0, nil, errors.New("the answer has no status")
	}
	return status, page[3:], nil
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
