package sbatch

import "strings"

// splitter splits the rest of a directive line into words as sbatch does: white space
// separates, single and double quotes group, a backslash takes the next character
// literally (also inside either kind of quotes), and # outside of quotes begins a
// comment, even within a word. It is not a shell: nothing is expanded. On #SLUICE lines,
// which sbatch does not read, a backslash within single quotes is literal, as in a shell:
// regular expressions contain many.
//
// Three cases in which sbatch's releases differ, or in which sbatch silently does
// something unintended, are errors here.
type splitter struct {
	line   string
	at     int // bytes read so far
	source string
	number int
	own    bool // a #SLUICE line
	words  []word
}

// splitWords reads line from byte offset on. It stops at the first error.
func splitWords(line string, offset int, source string, number int) ([]word, *Error) {
	s := splitter{line: line, at: offset, source: source, number: number, own: strings.HasPrefix(line, "#SLUICE")}
	for {
		for s.at < len(line) && isSpace(line[s.at]) {
			s.at++
		}
		if s.at >= len(line) || line[s.at] == '#' {
			return s.words, nil
		}
		if err := s.word(); err != nil {
			return s.words, err
		}
	}
}

func (s *splitter) place(at int) Place {
	return Place{Source: s.source, Line: s.number, Column: at + 1}
}

func (s *splitter) word() *Error {
	start := s.at
	var text strings.Builder
	var quote byte
	opened := 0
	for ; s.at < len(s.line); s.at++ {
		c := s.line[s.at]
		switch {
		case c == '\\' && !(s.own && quote == '\''):
			if err := s.escape(quote); err != nil {
				return err
			}
			if s.at < len(s.line) {
				text.WriteByte(s.line[s.at])
			}
			continue
		case quote != 0 && c == quote:
			quote = 0
			continue
		case quote == 0 && (c == '"' || c == '\''):
			quote, opened = c, s.at
			continue
		case quote == 0 && (isSpace(c) || c == '#'):
			return s.end(start, text.String())
		}
		text.WriteByte(c)
	}
	if quote != 0 {
		return &Error{At: s.place(opened), Why: "the quote " + string(quote) + " is not closed on this line"}
	}
	return s.end(start, text.String())
}

// escape skips a backslash and returns the character after it.
func (s *splitter) escape(quote byte) *Error {
	s.at++
	if quote != 0 || s.at < len(s.line) && !isSpace(s.line[s.at]) {
		return nil
	}
	if s.at >= len(s.line) {
		return &Error{At: s.place(s.at - 1), What: `\`, Why: "a directive does not continue on the next line",
			Do: "repeat the directive there"}
	}
	return &Error{At: s.place(s.at - 1), What: `\`, Why: "Slurm releases read a backslash before a space differently",
		Do: "put the value in quotes"}
}

func (s *splitter) end(start int, text string) *Error {
	raw := s.line[start:s.at]
	if isHet(raw) || strings.HasPrefix(raw, ":") {
		return &Error{At: s.place(start), What: raw, Why: hetWhy, Do: hetDo}
	}
	if text == "" {
		return &Error{At: s.place(start), Why: "sbatch stops reading at an empty word",
			Do: "leave it out, or attach it to its option: --comment="}
	}
	s.words = append(s.words, word{text: text, at: s.place(start)})
	return nil
}

// isSpace is C's isspace, which sbatch uses.
func isSpace(c byte) bool {
	return c == ' ' || c >= '\t' && c <= '\r'
}

// quoteWord writes a word so that splitWords, and every sbatch, reads it back. A bare
// colon at the beginning of a word would begin another part of the job.
func quoteWord(word string) string {
	if word != "" && word[0] != ':' && !strings.ContainsFunc(word, func(r rune) bool { return !isPlain(r) }) {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}

// isPlain reports whether a character is literal to sbatch and to every shell.
func isPlain(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return true
	}
	return strings.ContainsRune("_-+=.,:/@%^", r)
}

// shellQuote writes a word so that every POSIX shell reads it back unchanged.
func shellQuote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// isHet reports whether the word separates the parts of a heterogeneous job.
func isHet(word string) bool {
	return strings.EqualFold(word, "hetjob") || strings.EqualFold(word, "packjob")
}
