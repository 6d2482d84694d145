package door

import "net/http"

// Policy is the content security policy of every answer: nothing from elsewhere, no script and no
// style inside a page, no frame around it.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// strict sets the headers of every answer.
func strict(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	h.Set("Cache-Control", "private, no-cache")
}

// plain answers with a few words, for a browser that may not see a page.
func plain(w http.ResponseWriter, status int, words string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(words + "\n"))
}

// maxBody bounds the body of a request, in bytes: a job script and a few fields.
const maxBody = 5 << 20

// guarded refuses requests that another site's page sent, and bounds the body. Go's protection
// compares Sec-Fetch-Site, or Origin with Host.
func guarded(next http.Handler, refused func(*http.Request)) http.Handler {
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		strict(w)
		if err := cross.Check(r); err != nil {
			refused(r)
			plain(w, http.StatusForbidden, "sluice web: this request came from another site's page, so it was refused")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}
