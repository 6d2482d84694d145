package tunnel

import (
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Key is the secret of one start of a job: who has it is one of its nodes.
type Key [32]byte

// NewKey draws a key.
func NewKey() (k Key) {
	rand.Read(k[:]) // never fails
	return k
}

// Secure returns a connection whose two sides have shown each other that they have the key; the caller closes conn
// if that fails. ctx bounds it. One of the two sides is the client.
func (k Key) Secure(ctx context.Context, conn net.Conn, client bool) (net.Conn, error) {
	config, err := k.config()
	if err != nil {
		return nil, err
	}
	shaken := tls.Server(conn, config)
	if client {
		shaken = tls.Client(conn, config)
	}
	return shaken, shaken.HandshakeContext(ctx)
}

// errStranger: the other side does not have the key of the run.
var errStranger = errors.New("it does not have the key of this run")

// config makes both sides of a connection prove that they have the key, by a signature over this very
// handshake. The session's keys are from a key exchange of its own: who learns the key later cannot decrypt
// what was sent, and no session is resumed.
func (k Key) config() (*tls.Config, error) {
	seed, err := hkdf.Key(sha256.New, k[:], nil, "sluice relay 1", ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	private := ed25519.NewKeyFromSeed(seed)
	public := private.Public().(ed25519.PublicKey)
	// The same on all nodes: nothing but its key is looked at.
	plain := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Unix(1<<32, 0)}
	der, err := x509.CreateCertificate(rand.Reader, plain, plain, public, private)
	if err != nil {
		return nil, fmt.Errorf("the key of the run: %w", err)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}},
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // there is no name and no authority; VerifyConnection decides
		SessionTicketsDisabled: true, DynamicRecordSizingDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 1 {
				if other, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey); ok && public.Equal(other) {
					return nil
				}
			}
			return errStranger
		},
	}, nil
}
