/**
 * Default rate limits: requests in a window of seconds. They are the initial rows of private.rate_limit_rules, which an
 * operator may edit.
 */
export const rateLimits = {
  page: { max_requests: 600, window_seconds: 60 },
  // Below the 30 attempts that auth takes at once from an address, which all visitors share where it sees only ours.
  sign_in: { max_requests: 20, window_seconds: 300 },
  sign_in_mail: { max_requests: 20, window_seconds: 300 },
  token_exchange: { max_requests: 300, window_seconds: 60 },
  level_public: { max_requests: 30, window_seconds: 60 },
  level_user: { max_requests: 100, window_seconds: 60 },
  level_admin: { max_requests: 300, window_seconds: 60 },
  level_key: { max_requests: 300, window_seconds: 60 },
  agent_standard: { max_requests: 60, window_seconds: 60 },
  agent_professional: { max_requests: 300, window_seconds: 60 },
  agent_enterprise: { max_requests: 1000, window_seconds: 60 },
  submission_create_key: { max_requests: 100, window_seconds: 60 },
  submission_create_agent: { max_requests: 100, window_seconds: 60 },
  submission_create_user: { max_requests: 300, window_seconds: 60 },
  submission_update_user: { max_requests: 300, window_seconds: 60 },
  duplicate_check_public: { max_requests: 30, window_seconds: 60 },
  duplicate_check_user: { max_requests: 100, window_seconds: 60 },
  duplicate_check_key: { max_requests: 100, window_seconds: 60 },
  duplicate_check_agent: { max_requests: 100, window_seconds: 60 },
  comment_create: { max_requests: 20, window_seconds: 3600 },
  comment_update: { max_requests: 10, window_seconds: 3600 },
  comment_delete: { max_requests: 10, window_seconds: 3600 },
  comment_list: { max_requests: 100, window_seconds: 60 },
  vote_create: { max_requests: 30, window_seconds: 3600 },
  vote_delete: { max_requests: 30, window_seconds: 3600 },
  vote_list: { max_requests: 100, window_seconds: 60 },
  survey_response_create: { max_requests: 100, window_seconds: 60 },
  account_mail_mailbox: { max_requests: 10, window_seconds: 3600 },
  account_mail_account: { max_requests: 30, window_seconds: 3600 },
  account_mail_hour: { max_requests: 30, window_seconds: 3600 },
  account_mail_day: { max_requests: 100, window_seconds: 86_400 },
  account_mail_everyone: { max_requests: 1000, window_seconds: 3600 },
} as const;

export type RateLimitName = keyof typeof rateLimits;

/** The rule of an endpoint or tool, or the common prefix of rules that end in the kind of caller. */
export type RateLimitedOperation = OperationOf<
  Exclude<RateLimitName, `${"level" | "agent" | "account_mail"}_${string}`>
>;

type OperationOf<Name> = Name extends `${infer Operation}_${"public" | "user" | "key" | "agent"}` ? Operation : Name;
