package doctor

import (
	"fmt"

	"petstore.example/internal/ctl/output"
	"petstore.example/internal/mail"
)

// checkMail says whether the addresses of tenants are told what they asked for.
func checkMail(s mail.State) Finding {
	addresses := fmt.Sprintf("addresses that have confirmed: %d", s.Confirmed)
	waiting := output.Count(s.Waiting, "mail")
	switch {
	case s.Servers == 0:
		return Finding{"mail", statusSkip, "no server is alive", ""}
	case s.Senders == 0 && s.Confirmed > 0:
		return Finding{"mail", statusWarn, addresses + ", and no server sends mail",
			"set PETSTORE_SMTP_URL and PETSTORE_MAIL_FROM on the servers"}
	case s.Senders == 0:
		return Finding{"mail", statusOK, "off: no server has a relay (PETSTORE_SMTP_URL)", ""}
	case s.Relay != "":
		return Finding{"mail", statusFail, s.Relay + "; " + waiting + " not sent yet",
			"mend the relay or PETSTORE_SMTP_URL within a day: later mail is dropped"}
	case s.Late > 0:
		return Finding{"mail", statusWarn, output.Count(s.Late, "mail") + " dropped within a week: not sent for a day",
			"see docs/running.md#petstoremaillate"}
	}
	return Finding{"mail", statusOK, addresses + "; " + waiting + " not sent yet", ""}
}
