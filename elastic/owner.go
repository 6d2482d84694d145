package elastic

// Owner is the user that every rule counts a job for: rights, private listings, shares, fairness, what
// is learned by user, history and messages.
//
// It is the user that Slurm shows, except for a confined job: that is a job of the service account,
// and its owner is the user that its tag names (Tag.For). Ownership of files, joins with Slurm's
// records and Slurm's limits per user go by the user that Slurm shows, for confined jobs too.
type Owner struct {
	User string // name
	UID  uint32
}

// maxUser bounds the bytes of a user's name.
const maxUser = 64

// UserName reports whether a text may be the name of a user. It is looked up in the site's directory,
// so it has no characters that mean something there.
func UserName(s string) bool {
	if s == "" || len(s) > maxUser || s[0] == '-' {
		return false
	}
	for _, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '.' && c != '_' && c != '-' && c != '@' && c != '+' && c != '$' {
			return false
		}
	}
	return true
}
