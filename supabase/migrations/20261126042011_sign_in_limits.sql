-- Generated from supabase/schemas by npm run db:migration, then reviewed. It runs in one transaction, while functions
-- of the previous release serve requests: see "Release" in CONTRIBUTING.md.

insert into private.rate_limit_rules (name, max_requests, window_seconds) values
  ('sign_in', 20, 300), ('sign_in_mail', 20, 300)
on conflict do nothing;
