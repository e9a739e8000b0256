/**
 * Code that signs a token in a host's backend, by language, without a library. docs/embed.md has the same examples; tests
 * run those of Node and Python.
 */
export const identifyExamples = (audience: string): { name: string; code: string }[] => [
  {
    name: "Node",
    code: `import { createHmac, randomUUID } from "node:crypto";

export function feedbackToken(user) {
  const now = Math.floor(Date.now() / 1000);
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { aud: "${audience}", sub: String(user.id), email: user.email, name: user.name };
  const times = { iat: now, exp: now + 300, jti: randomUUID() };
  const text = \`\${encode({ alg: "HS256", typ: "JWT" })}.\${encode({ ...claims, ...times })}\`;
  const secret = process.env.FEEDBACK_SIGNING_SECRET;
  return \`\${text}.\${createHmac("sha256", secret).update(text).digest("base64url")}\`;
}
`,
  },
  {
    name: "Python",
    code: `import base64, hashlib, hmac, json, os, time, uuid

def feedback_token(user):
    now = int(time.time())
    encode = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=")
    header = {"alg": "HS256", "typ": "JWT"}
    claims = {"aud": "${audience}", "sub": str(user["id"]), "email": user["email"], "name": user["name"],
              "iat": now, "exp": now + 300, "jti": str(uuid.uuid4())}
    text = encode(json.dumps(header).encode()) + b"." + encode(json.dumps(claims).encode())
    secret = os.environ["FEEDBACK_SIGNING_SECRET"].encode()
    return (text + b"." + encode(hmac.new(secret, text, hashlib.sha256).digest())).decode()
`,
  },
  {
    name: "Ruby",
    code: `require "base64"
require "json"
require "openssl"
require "securerandom"

def feedback_token(user)
  now = Time.now.to_i
  encode = ->(data) { Base64.urlsafe_encode64(data, padding: false) }
  claims = { aud: "${audience}", sub: user.id.to_s, email: user.email, name: user.name,
             iat: now, exp: now + 300, jti: SecureRandom.uuid }
  text = [{ alg: "HS256", typ: "JWT" }, claims].map { |part| encode.(part.to_json) }.join(".")
  "#{text}.#{encode.(OpenSSL::HMAC.digest("SHA256", ENV.fetch("FEEDBACK_SIGNING_SECRET"), text))}"
end
`,
  },
  {
    name: "PHP",
    code: `<?php
function feedback_token($user): string {
    $now = time();
    $encode = fn(string $data) => rtrim(strtr(base64_encode($data), "+/", "-_"), "=");
    $claims = ["aud" => "${audience}", "sub" => (string) $user->id, "email" => $user->email, "name" => $user->name,
        "iat" => $now, "exp" => $now + 300, "jti" => bin2hex(random_bytes(16))];
    $text = $encode(json_encode(["alg" => "HS256", "typ" => "JWT"])) . "." . $encode(json_encode($claims));
    return $text . "." . $encode(hash_hmac("sha256", $text, getenv("FEEDBACK_SIGNING_SECRET"), true));
}
`,
  },
  {
    name: "Go",
    code: `package feedback

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"os"
	"time"
)

func Token(id, email, name string) (string, error) {
	now := time.Now().Unix()
	jti := make([]byte, 16)
	if _, err := rand.Read(jti); err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	claims, err := json.Marshal(map[string]any{"aud": "${audience}", "sub": id, "email": email, "name": name,
		"iat": now, "exp": now + 300, "jti": encode(jti)})
	if err != nil {
		return "", err
	}
	text := encode([]byte(\`{"alg":"HS256","typ":"JWT"}\`)) + "." + encode(claims)
	mac := hmac.New(sha256.New, []byte(os.Getenv("FEEDBACK_SIGNING_SECRET")))
	mac.Write([]byte(text))
	return text + "." + encode(mac.Sum(nil)), nil
}
`,
  },
];
