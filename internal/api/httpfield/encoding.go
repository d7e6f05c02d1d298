package httpfield

import "strings"

// AcceptsGzip reports whether Accept-Encoding (RFC 9110, section 12.5.3) accepts gzip and does not
// prefer unencoded content. A malformed weight is 0.
func AcceptsGzip(values []string) bool {
	// In thousandths; -1 for a coding that is not named.
	gzip, identity, others := -1, -1, -1
	for _, list := range values {
		for list != "" {
			var element string
			element, list, _ = strings.Cut(list, ",")
			coding, params, _ := strings.Cut(element, ";")
			switch coding = strings.Trim(coding, " \t"); {
			case strings.EqualFold(coding, "gzip"):
				gzip = weight(params)
			case strings.EqualFold(coding, "identity"):
				identity = weight(params)
			case coding == "*":
				others = weight(params)
			}
		}
	}
	if gzip < 0 {
		gzip = others
	}
	return gzip > 0 && gzip >= identity
}

// weight reads a weight (RFC 9110, section 12.4.2), in thousandths. It is 1000 if there is none.
func weight(params string) int {
	if params = strings.Trim(params, " \t"); params == "" {
		return 1000
	}
	if len(params) < 3 || params[0]|0x20 != 'q' || params[1] != '=' {
		return 0
	}
	digits := params[2:]
	if len(digits) > len("0.000") || digits[0] != '0' && digits[0] != '1' || len(digits) > 1 && digits[1] != '.' {
		return 0
	}
	sum, unit := int(digits[0]-'0')*1000, 100
	for i := 2; i < len(digits); i++ {
		if digits[i] < '0' || digits[i] > '9' {
			return 0
		}
		sum += int(digits[i]-'0') * unit
		unit /= 10
	}
	if sum > 1000 {
		return 0
	}
	return sum
}
