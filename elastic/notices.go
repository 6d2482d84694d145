package elastic

import (
	"fmt"
	"slices"
	"strings"
)

// Notices are the messages about a job that its user asked for and that sluiced sends.
type Notices struct {
	// Begin and Requeue are mails that Slurm would send at each resize (--mail-type): Slurm is
	// not asked for them.
	Begin   bool `json:",omitempty"`
	Requeue bool `json:",omitempty"`
	Mail    bool `json:",omitempty"` // --notify=mail
	Webhook bool `json:",omitempty"` // --notify=webhook:URL; the URL is in the job's folder
	// To is who gets mails (--mail-user); "" = the job's user.
	To string `json:",omitempty"`
}

// Some reports whether any message is asked for.
func (n Notices) Some() bool { return n.Begin || n.Requeue || n.Mail || n.Webhook }

// maxReceiver bounds the bytes of Notices.To, as RFC 5321 bounds an address.
const maxReceiver = 254

// ValidReceiver reports whether mails may be sent to an account or address, or to several with commas
// between them. It is an argument of a program: it has letters, digits and . _ % + - @ = , only, and
// begins with a letter or digit.
func ValidReceiver(to string) bool {
	if to == "" || len(to) > maxReceiver {
		return false
	}
	for i, c := range []byte(to) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || !strings.ContainsRune("._%+-@=,", rune(c))) {
			return false
		}
	}
	return true
}

// Words of a tag's keys.
const (
	noticeBegin, noticeRequeue = "begin", "requeue" // of mail=
	noticeMail, noticeWebhook  = "mail", "webhook"  // of notify=
)

// mails and channels return the values of the tag's keys; "" = none.
func (n Notices) mails() string    { return chosen(noticeBegin, n.Begin, noticeRequeue, n.Requeue) }
func (n Notices) channels() string { return chosen(noticeMail, n.Mail, noticeWebhook, n.Webhook) }

func chosen(one string, is bool, other string, also bool) string {
	switch {
	case is && also:
		return one + "," + other
	case is:
		return one
	case also:
		return other
	}
	return ""
}

// set reads one of the tag's keys.
func (n *Notices) set(key, value string) error {
	words := strings.Split(value, ",")
	switch key {
	case "mailto":
		if n.To = value; !ValidReceiver(value) {
			return fmt.Errorf("mailto=%q: want an address", value)
		}
		return nil
	case "mail":
		n.Begin, n.Requeue = slices.Contains(words, noticeBegin), slices.Contains(words, noticeRequeue)
		if value == "" || value != n.mails() {
			return fmt.Errorf("mail=%q: want begin, requeue or begin,requeue", value)
		}
	case "notify":
		n.Mail, n.Webhook = slices.Contains(words, noticeMail), slices.Contains(words, noticeWebhook)
		if value == "" || value != n.channels() {
			return fmt.Errorf("notify=%q: want mail, webhook or mail,webhook", value)
		}
	}
	return nil
}
