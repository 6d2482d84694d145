package sbatch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/message"
)

// parseNotify reads mail, webhook:URL or both with a comma between them, the URL last.
func parseNotify(value string) (mail bool, hook string, err error) {
	rest, hook, found := strings.Cut(value, "webhook:")
	if found {
		if err := message.CheckURL(hook); err != nil {
			return false, "", err
		}
		rest = strings.TrimSuffix(rest, ",")
	}
	switch {
	case rest == "mail":
		return true, hook, nil
	case rest == "" && found:
		return false, hook, nil
	}
	return false, "", fmt.Errorf("want mail, webhook:URL or mail,webhook:URL")
}

// notify reads --notify and what sluiced sends of --mail-type.
func (m *merger) notify() {
	n := &m.request.notices
	m.value("notify", func(v string) (err error) {
		n.Mail, m.request.Hook, err = parseNotify(v)
		n.Webhook = m.request.Hook != ""
		return err
	})
	for _, s := range m.mails {
		for _, kind := range kindsOf(s.value) {
			n.Begin = n.Begin || kind == "ALL" || kind == "BEGIN"
			n.Requeue = n.Requeue || kind == "ALL" || kind == "REQUEUE"
		}
	}
	if s, given := m.chosen["mail-user"]; given && n.Some() && (n.Begin || n.Requeue || n.Mail) {
		if n.To = s.value; !elastic.ValidReceiver(s.value) {
			m.fail(s.fail("sluiced sends mails to it, so it has letters, digits and . _ % + - @ = only, at most 254", "give an account or an address"))
		}
	}
}

// kindsOf splits the value of --mail-type.
func kindsOf(value string) []string { return strings.Split(strings.ToUpper(value), ",") }

// resends reports whether Slurm would send the mails of an option at each resize. sluiced sends these
// instead, at the first start and when somebody else requeues the job.
func resends(s setting) bool {
	if s.name != "mail-type" {
		return false
	}
	kinds := kindsOf(s.value)
	return !slices.Contains(kinds, "NONE") && slices.ContainsFunc(kinds, func(k string) bool { return k == "ALL" || k == "BEGIN" || k == "REQUEUE" })
}

// mailsOfSlurm is the option with which Slurm sends the other mails; "" = none was taken out. Slurm adds up
// all that it is given, on lines of the script too. ALL is what it is for all releases (parse_mail_type in
// Slurm's proc_args.c).
func (m *merger) mailsOfSlurm() string {
	var kinds []string
	for _, s := range m.mails {
		for _, kind := range strings.Split(s.value, ",") {
			switch strings.ToUpper(kind) {
			case "BEGIN", "REQUEUE":
			case "ALL":
				kinds = append(kinds, "END", "FAIL", "INVALID_DEPEND", "STAGE_OUT")
			default: // in the words of the user, which sbatch may complain about
				kinds = append(kinds, kind)
			}
		}
	}
	if len(kinds) == 0 {
		return ""
	}
	return "--mail-type=" + strings.Join(unique(kinds), ",")
}

// unique drops repeated words.
func unique(words []string) []string {
	var out []string
	for _, w := range words {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}
