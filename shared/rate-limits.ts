/** What a fresh installation allows: requests a window of seconds. An operator edits private.rate_limit_rules, which these are the defaults of. */
export const rateLimits = {
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
} as const;

export type RateLimitName = keyof typeof rateLimits;
