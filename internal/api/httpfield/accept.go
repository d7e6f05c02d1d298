package httpfield

import "strings"

// PrefersHTML reports whether Accept (RFC 9110, section 12.5.1) gives HTML a greater weight than
// JSON, as a browser does for an address that somebody enters.
func PrefersHTML(values []string) bool {
	html, json, exact := 0, 0, 0 // in thousandths
	for _, list := range values {
		for element := range strings.SplitSeq(list, ",") {
			media, params, _ := strings.Cut(element, ";")
			q := weightAmong(params)
			media = strings.ToLower(strings.TrimSpace(media))
			if media == "text/html" {
				html = q
			}
			// The most specific range that matches JSON counts.
			for i, matched := range []string{"*/*", "application/*", "application/json"} {
				if media == matched && i >= exact {
					json, exact = q, i
				}
			}
		}
	}
	return html > json
}

// weightAmong reads the weight among the parameters of a media type, in thousandths. It is 1000 if
// there is none.
func weightAmong(params string) int {
	for param := range strings.SplitSeq(params, ";") {
		if param = strings.Trim(param, " \t"); len(param) > 1 && param[0]|0x20 == 'q' && param[1] == '=' {
			return weight(param)
		}
	}
	return 1000
}
