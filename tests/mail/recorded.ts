// Calls of the Send Email hook as Supabase Auth 2.196 made them.

/** Signed with two secrets: `whsec_` and 24 bytes of value 1, and of value 2. */
export const recordedHeaders = {
  "webhook-id": "f8030ace-33de-490e-9726-254045aa499f",
  "webhook-timestamp": "1795665999",
  "webhook-signature":
    "v1,bl/t+roZtA2hK8sZRQsC8lzd1k+XKYY73mkODe4fFsA=, v1,u1Ztfuj6mFtwMm9Gbt+PCq6gQdTt2IxiJEg0wff8AfM=",
};

export const passwordChanged = {
  metadata: {
    uuid: "72db2fc2-dae4-4482-8a50-10f000abb720",
    time: "2026-11-26T04:06:39.103317304Z",
    name: "send-email",
    ip_address: "127.0.0.1",
  },
  user: {
    id: "1583bf82-f27c-4540-b441-944b86ff1dad",
    aud: "authenticated",
    role: "authenticated",
    email: "ann@example.org",
    email_confirmed_at: "2026-11-26T04:06:38.690379Z",
    phone: "",
    confirmed_at: "2026-11-26T04:06:38.690379Z",
    last_sign_in_at: "2026-11-26T04:06:38.805611Z",
    app_metadata: { provider: "email", providers: ["email"] },
    user_metadata: { email_verified: true, name: "Somebody" },
    identities: [
      {
        identity_id: "edea44e1-5059-4507-86ab-4a0ebc73e62b",
        id: "1583bf82-f27c-4540-b441-944b86ff1dad",
        user_id: "1583bf82-f27c-4540-b441-944b86ff1dad",
        identity_data: {
          email: "ann@example.org",
          email_verified: false,
          phone_verified: false,
          sub: "1583bf82-f27c-4540-b441-944b86ff1dad",
        },
        provider: "email",
        last_sign_in_at: "2026-11-26T04:06:38.684639Z",
        created_at: "2026-11-26T04:06:38.684684Z",
        updated_at: "2026-11-26T04:06:38.684684Z",
        email: "ann@example.org",
      },
    ],
    created_at: "2026-11-26T04:06:38.674453Z",
    updated_at: "2026-11-26T04:06:39.094232Z",
    is_anonymous: false,
  },
  email_data: {
    token: "",
    token_hash: "",
    redirect_to: "http://127.0.0.1:37293",
    email_action_type: "password_changed_notification",
    site_url: "http://127.0.0.1:37293/auth/v1",
    token_new: "",
    token_hash_new: "",
    old_email: "",
    old_phone: "",
    provider: "",
    factor_type: "",
  },
};

/** `email_data` of a change of address with two confirmations, and of the notice after it. */
export const addressChange = {
  token: "310339",
  token_hash: "535e2e1ce89802d12e4cdf4a5615f196c338ab303ee0bc3441892f86",
  redirect_to: "http://127.0.0.1:37293",
  email_action_type: "email_change",
  site_url: "http://127.0.0.1:37293/auth/v1",
  token_new: "366772",
  token_hash_new: "bf391c03d05dff5ada6ae39dfcc7abf1b071011ad63b1fce536f29b0",
  old_email: "",
  old_phone: "",
  provider: "",
  factor_type: "",
};
export const addressChanged = {
  token: "",
  token_hash: "",
  redirect_to: "http://127.0.0.1:37293",
  email_action_type: "email_changed_notification",
  site_url: "http://127.0.0.1:37293/auth/v1",
  token_new: "",
  token_hash_new: "",
  old_email: "ann@example.org",
  old_phone: "",
  provider: "",
  factor_type: "",
};
