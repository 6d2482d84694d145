package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/notify"
	"github.com/sluice-hpc/sluice/elastic/notify/deliver"
	"github.com/sluice-hpc/sluice/etc"
)

// messages are what sluiced tells its users and administrators. watch belongs to the cycle's goroutine.
type messages struct {
	watch *notify.Watch
	queue *deliver.Queue
	hook  func(token string, uid uint32) (string, error)
	mail  mailSettings
}

func notifyRules(c etc.Config) notify.Rules {
	return notify.Rules{Events: c.Notify.Events, Digest: c.Notify.Digest}
}

// newMessages makes the watch and the queue. The error is a secret that cannot be used.
func (d *daemon) newMessages(c etc.Config, mailbox *checkpoint.Mailbox, by string) error {
	d.messages.hook = mailbox.Hook
	d.messages.mail.ask = d.askMailer
	channels, err := d.channels(c)
	if err != nil {
		return err
	}
	d.messages.watch = notify.New(notifyRules(c), by, d.started)
	d.messages.queue = deliver.New(deliver.Config{Channels: channels, Now: time.Now, Told: d.tellMessages, Count: d.metrics.Message, Waiting: d.metrics.Waiting})
	return nil
}

// channels are where messages go.
func (d *daemon) channels(c etc.Config) (deliver.Channels, error) {
	out := deliver.Channels{Exec: c.Notify.Exec, Webhook: c.Notify.Webhook, Allows: c.Notify.Allows, Hook: d.messages.hook,
		Client: deliver.NewClient(&http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10})}
	if c.Notify.Mail {
		out.Mailer = d.messages.mail.get
	}
	if c.Notify.Webhook == "" {
		return out, nil
	}
	secret, err := readSecret(c.Notify.Secret)
	if err != nil {
		return out, fmt.Errorf("[notify] secret: %w", err)
	}
	out.Secret = secret
	return out, nil
}

// reload takes over the configuration, or nothing of it.
func (d *daemon) reloadMessages(c etc.Config) error {
	channels, err := d.channels(c)
	if err != nil {
		return err
	}
	d.messages.watch.Configure(notifyRules(c))
	d.messages.queue.Configure(channels)
	return nil
}

// send makes messages of the report of the last cycle, and queues them.
func (d *daemon) send() {
	if r := engine.Published(d.engine); r != nil {
		d.messages.queue.Add(d.messages.watch.Cycle(r))
	}
}

// deliver sends until ctx ends.
func (d *daemon) deliver(ctx context.Context) error {
	if lost := d.messages.queue.Run(ctx); lost > 0 {
		d.log.Warn().Str("event", "unsent").Int("more", lost).Msg("messages were not sent yet and are lost")
	}
	return nil
}

// tellMessages logs that messages of a kind cannot be sent, and that they can again.
func (d *daemon) tellMessages(channel string, err error) {
	if err != nil {
		d.log.Error().Str("event", "unsent").Str("channel", channel).Err(err).Msg("messages cannot be sent")
		return
	}
	d.log.Info().Str("event", "sent").Str("channel", channel).Msg("messages are sent again")
}

// messageState is what became of messages, for status.
func (d *daemon) messageState() wire.Messages {
	s := d.messages.queue.State()
	return wire.Messages{Sent: s.Sent, Waiting: s.Waiting, Failed: s.Failed, Dropped: s.Dropped, Users: s.OfUsers, Why: s.Why}
}

// Bounds of a secret, in bytes.
const (
	leastSecret = 16
	mostSecret  = 4096
)

// readSecret reads the key of webhooks. Others than its owner must not be able to read it.
func readSecret(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	stat, is := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", path)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s can be read by others than its owner (mode %04o); type: chmod 600 %s", path, info.Mode().Perm(), path)
	case is && stat.Uid != 0 && stat.Uid != uint32(os.Geteuid()):
		return nil, fmt.Errorf("%s belongs to user %d; it must belong to the account of sluiced (%d) or to root", path, stat.Uid, os.Geteuid())
	case info.Size() > mostSecret:
		return nil, fmt.Errorf("%s has %d bytes; at most %d are possible", path, info.Size(), mostSecret)
	}
	text := make([]byte, info.Size())
	n, err := f.ReadAt(text, 0)
	if err != nil {
		return nil, err
	}
	if secret := bytes.TrimSpace(text[:n]); len(secret) >= leastSecret {
		return secret, nil
	}
	return nil, fmt.Errorf("%s has fewer than %d bytes; type: head -c 32 /dev/urandom | base64 > %s", path, leastSecret, path)
}

// Slurm is asked by what it sends mails at most once in mailEvery, and after a failure once in mailAgain.
const (
	mailEvery = time.Hour
	mailAgain = time.Minute
)

// mailSettings caches by what Slurm sends mails.
type mailSettings struct {
	ask func(context.Context) (deliver.Mailer, error)

	mu    sync.Mutex
	known deliver.Mailer
	err   error
	until time.Time
}

func (m *mailSettings) get(ctx context.Context) (deliver.Mailer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Now().Before(m.until) {
		return m.known, m.err
	}
	m.known, m.err = m.ask(ctx)
	m.until = time.Now().Add(mailEvery)
	if m.err != nil {
		m.until = time.Now().Add(mailAgain)
	}
	return m.known, m.err
}

func (d *daemon) askMailer(ctx context.Context) (deliver.Mailer, error) {
	s, err := d.rights.Settings(ctx)
	return deliver.Mailer{Program: s.Get("MailProg"), Domain: s.Get("MailDomain"), Cluster: s.Get("ClusterName")}, err
}
