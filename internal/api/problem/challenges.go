package problem

import "petstore.example/internal/keys"

// The challenges of a 401 (RFC 6750, section 3). Without a credential, or with one of another
// scheme, the challenge names no error.
const (
	Challenge        = `Bearer realm="petstore"`
	ChallengeInvalid = Challenge + `, error="invalid_token"`
	ChallengeScope   = Challenge + `, error="insufficient_scope", scope=`
	ChallengeSeveral = ChallengeInvalid + `, error_description="The request has two Authorization headers"`
)

// Descriptions tell programs, as error_description, why an existing key is not valid.
// docs/errors.md lists them, and they never change.
var Descriptions = map[keys.Status]string{
	keys.Expired:          "The API key has expired",
	keys.Revoked:          "The API key was revoked",
	keys.TenantSuspended:  "The account is suspended",
	keys.OtherEnvironment: "The API key is for the other deployment",
}
