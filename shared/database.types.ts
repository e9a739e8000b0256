export type Json = string | number | boolean | null | { [key: string]: Json | undefined } | Json[];

export type Database = {
  public: {
    Tables: {
      categories: {
        Row: {
          color: string;
          created_at: string;
          id: string;
          name: string;
          organization_id: string;
          position: number;
          slug: string;
          translations: NonNullable<Json>;
        };
        ComputedFields: never;
        Insert: {
          color?: string;
          created_at?: string;
          id?: string;
          name: string;
          organization_id: string;
          position?: number;
          slug: string;
          translations?: NonNullable<Json>;
        };
        Update: {
          color?: string;
          created_at?: string;
          id?: string;
          name?: string;
          organization_id?: string;
          position?: number;
          slug?: string;
          translations?: NonNullable<Json>;
        };
        Relationships: [
          {
            foreignKeyName: "categories_organization_id_fkey";
            columns: ["organization_id"];
            isOneToOne: false;
            referencedRelation: "organizations";
            referencedColumns: ["id"];
          },
        ];
      };
      comment_votes: {
        Row: {
          comment_id: string;
          created_at: string;
          id: string;
          organization_id: string;
          submission_id: string;
          user_id: string;
        };
        ComputedFields: never;
        Insert: {
          comment_id: string;
          created_at?: string;
          id?: string;
          organization_id?: string;
          submission_id?: string;
          user_id?: string;
        };
        Update: {
          comment_id?: string;
          created_at?: string;
          id?: string;
          organization_id?: string;
          submission_id?: string;
          user_id?: string;
        };
        Relationships: [
          {
            foreignKeyName: "comment_votes_comment_is_of_the_same_submission";
            columns: ["submission_id", "comment_id"];
            isOneToOne: false;
            referencedRelation: "comments";
            referencedColumns: ["submission_id", "id"];
          },
          {
            foreignKeyName: "comment_votes_user_id_fkey";
            columns: ["user_id"];
            isOneToOne: false;
            referencedRelation: "profiles";
            referencedColumns: ["id"];
          },
        ];
      };
      comments: {
        Row: {
          author_id: string;
          body: string;
          created_at: string;
          id: string;
          is_official: boolean;
          is_public: boolean;
          moderation_state: string;
          organization_id: string;
          parent_id: string | null;
          reply_count: number;
          submission_id: string;
          updated_at: string;
          vote_count: number;
        };
        ComputedFields: never;
        Insert: {
          author_id?: string;
          body: string;
          created_at?: string;
          id?: string;
          is_official?: boolean;
          is_public?: boolean;
          moderation_state?: string;
          organization_id?: string;
          parent_id?: string | null;
          reply_count?: number;
          submission_id: string;
          updated_at?: string;
          vote_count?: number;
        };
        Update: {
          author_id?: string;
          body?: string;
          created_at?: string;
          id?: string;
          is_official?: boolean;
          is_public?: boolean;
          moderation_state?: string;
          organization_id?: string;
          parent_id?: string | null;
          reply_count?: number;
          submission_id?: string;
          updated_at?: string;
          vote_count?: number;
        };
        Relationships: [
          {
            foreignKeyName: "comments_author_id_fkey";
            columns: ["author_id"];
            isOneToOne: false;
            referencedRelation: "profiles";
            referencedColumns: ["id"];
          },
          {
            foreignKeyName: "comments_parent_is_of_the_same_submission";
            columns: ["submission_id", "parent_id"];
            isOneToOne: false;
            referencedRelation: "comments";
            referencedColumns: ["submission_id", "id"];
          },
          {
            foreignKeyName: "comments_submission_is_of_the_same_organization";
            columns: ["organization_id", "submission_id"];
            isOneToOne: false;
            referencedRelation: "submissions";
            referencedColumns: ["organization_id", "id"];
          },
        ];
      };
      follows: {
        Row: { created_at: string; organization_id: string; reason: string; submission_id: string; user_id: string };
        ComputedFields: never;
        Insert: {
          created_at?: string;
          organization_id?: string;
          reason?: string;
          submission_id: string;
          user_id?: string;
        };
        Update: {
          created_at?: string;
          organization_id?: string;
          reason?: string;
          submission_id?: string;
          user_id?: string;
        };
        Relationships: [
          {
            foreignKeyName: "follows_submission_is_of_the_same_organization";
            columns: ["organization_id", "submission_id"];
            isOneToOne: false;
            referencedRelation: "submissions";
            referencedColumns: ["organization_id", "id"];
          },
          {
            foreignKeyName: "follows_user_id_fkey";
            columns: ["user_id"];
            isOneToOne: false;
            referencedRelation: "profiles";
            referencedColumns: ["id"];
          },
        ];
      };
      memberships: {
        Row: { created_at: string; organization_id: string; role: string; user_id: string };
        ComputedFields: never;
        Insert: { created_at?: string; organization_id: string; role?: string; user_id: string };
        Update: { created_at?: string; organization_id?: string; role?: string; user_id?: string };
        Relationships: [
          {
            foreignKeyName: "memberships_organization_id_fkey";
            columns: ["organization_id"];
            isOneToOne: false;
            referencedRelation: "organizations";
            referencedColumns: ["id"];
          },
          {
            foreignKeyName: "memberships_user_id_fkey";
            columns: ["user_id"];
            isOneToOne: false;
            referencedRelation: "profiles";
            referencedColumns: ["id"];
          },
        ];
      };
      notifications: {
        Row: {
          comment_id: string | null;
          created_at: string;
          event_id: string;
          id: string;
          organization_id: string;
          read_at: string | null;
          submission_id: string;
          type: string;
          user_id: string;
        };
        ComputedFields: never;
        Insert: {
          comment_id?: string | null;
          created_at?: string;
          event_id: string;
          id?: string;
          organization_id: string;
          read_at?: string | null;
          submission_id: string;
          type: string;
          user_id: string;
        };
        Update: {
          comment_id?: string | null;
          created_at?: string;
          event_id?: string;
          id?: string;
          organization_id?: string;
          read_at?: string | null;
          submission_id?: string;
          type?: string;
          user_id?: string;
        };
        Relationships: [
          {
            foreignKeyName: "notifications_comment_id_fkey";
            columns: ["comment_id"];
            isOneToOne: false;
            referencedRelation: "comments";
            referencedColumns: ["id"];
          },
          {
            foreignKeyName: "notifications_submission_is_of_the_same_organization";
            columns: ["organization_id", "submission_id"];
            isOneToOne: false;
            referencedRelation: "submissions";
            referencedColumns: ["organization_id", "id"];
          },
          {
            foreignKeyName: "notifications_user_id_fkey";
            columns: ["user_id"];
            isOneToOne: false;
            referencedRelation: "profiles";
            referencedColumns: ["id"];
          },
        ];
      };
      organizations: {
        Row: {
          allow_indexing: boolean;
          allowed_origins: string[];
          anonymous_may: string;
          brand_color: string | null;
          created_at: string;
          default_locale: string;
          id: string;
          is_default: boolean;
          logo_url: string | null;
          mail_defaults: NonNullable<Json>;
          mail_enabled: boolean;
          max_members: number | null;
          max_submissions: number | null;
          max_surveys: number | null;
          max_unconfirmed_mails: number | null;
          name: string;
          require_approval: boolean;
          settings: NonNullable<Json>;
          slug: string;
          time_zone: string;
          trust_after: number | null;
          updated_at: string;
          visibility: string;
        };
        ComputedFields: never;
        Insert: {
          allow_indexing?: boolean;
          allowed_origins?: string[];
          anonymous_may?: string;
          brand_color?: string | null;
          created_at?: string;
          default_locale?: string;
          id?: string;
          is_default?: boolean;
          logo_url?: string | null;
          mail_defaults?: NonNullable<Json>;
          mail_enabled?: boolean;
          max_members?: number | null;
          max_submissions?: number | null;
          max_surveys?: number | null;
          max_unconfirmed_mails?: number | null;
          name: string;
          require_approval?: boolean;
          settings?: NonNullable<Json>;
          slug: string;
          time_zone?: string;
          trust_after?: number | null;
          updated_at?: string;
          visibility?: string;
        };
        Update: {
          allow_indexing?: boolean;
          allowed_origins?: string[];
          anonymous_may?: string;
          brand_color?: string | null;
          created_at?: string;
          default_locale?: string;
          id?: string;
          is_default?: boolean;
          logo_url?: string | null;
          mail_defaults?: NonNullable<Json>;
          mail_enabled?: boolean;
          max_members?: number | null;
          max_submissions?: number | null;
          max_surveys?: number | null;
          max_unconfirmed_mails?: number | null;
          name?: string;
          require_approval?: boolean;
          settings?: NonNullable<Json>;
          slug?: string;
          time_zone?: string;
          trust_after?: number | null;
          updated_at?: string;
          visibility?: string;
        };
        Relationships: [];
      };
      profiles: {
        Row: {
          auth_user_id: string | null;
          avatar_url: string | null;
          created_at: string;
          email: string | null;
          id: string;
          is_anonymous: boolean;
          kind: string;
          locale: string | null;
          name: string | null;
          named_by_key: boolean;
          organization_id: string | null;
          updated_at: string;
        };
        ComputedFields: never;
        Insert: {
          auth_user_id?: string | null;
          avatar_url?: string | null;
          created_at?: string;
          email?: string | null;
          id?: string;
          is_anonymous?: boolean;
          kind?: string;
          locale?: string | null;
          name?: string | null;
          named_by_key?: boolean;
          organization_id?: string | null;
          updated_at?: string;
        };
        Update: {
          auth_user_id?: string | null;
          avatar_url?: string | null;
          created_at?: string;
          email?: string | null;
          id?: string;
          is_anonymous?: boolean;
          kind?: string;
          locale?: string | null;
          name?: string | null;
          named_by_key?: boolean;
          organization_id?: string | null;
          updated_at?: string;
        };
        Relationships: [
          {
            foreignKeyName: "profiles_organization_id_fkey";
            columns: ["organization_id"];
            isOneToOne: false;
            referencedRelation: "organizations";
            referencedColumns: ["id"];
          },
        ];
      };
      status_changes: {
        Row: {
          changed_by: string | null;
          created_at: string;
          id: string;
          new_status: string;
          note: string | null;
          notify: boolean;
          organization_id: string;
          previous_status: string;
          submission_id: string;
        };
        ComputedFields: never;
        Insert: {
          changed_by?: string | null;
          created_at?: string;
          id?: string;
          new_status: string;
          note?: string | null;
          notify?: boolean;
          organization_id?: string;
          previous_status?: string;
          submission_id: string;
        };
        Update: {
          changed_by?: string | null;
          created_at?: string;
          id?: string;
          new_status?: string;
          note?: string | null;
          notify?: boolean;
          organization_id?: string;
          previous_status?: string;
          submission_id?: string;
        };
        Relationships: [
          {
            foreignKeyName: "status_changes_changed_by_fkey";
            columns: ["changed_by"];
            isOneToOne: false;
            referencedRelation: "profiles";
            referencedColumns: ["id"];
          },
          {
            foreignKeyName: "status_changes_submission_is_of_the_same_organization";
            columns: ["organization_id", "submission_id"];
            isOneToOne: false;
            referencedRelation: "submissions";
            referencedColumns: ["organization_id", "id"];
          },
        ];
      };
      submission_tags: {
        Row: { merged_from: string | null; organization_id: string; submission_id: string; tag_id: string };
        ComputedFields: never;
        Insert: { merged_from?: string | null; organization_id?: string; submission_id: string; tag_id: string };
        Update: { merged_from?: string | null; organization_id?: string; submission_id?: string; tag_id?: string };
        Relationships: [
          {
            foreignKeyName: "submission_tags_submission_is_of_the_same_organization";
            columns: ["organization_id", "submission_id"];
            isOneToOne: false;
            referencedRelation: "submissions";
            referencedColumns: ["organization_id", "id"];
          },
          {
            foreignKeyName: "submission_tags_tag_is_of_the_same_organization";
            columns: ["organization_id", "tag_id"];
            isOneToOne: false;
            referencedRelation: "tags";
            referencedColumns: ["organization_id", "id"];
          },
        ];
      };
      submissions: {
        Row: {
          author_id: string;
          category_id: string | null;
          comment_count: number;
          created_at: string;
          description: string;
          id: string;
          is_changed_by_author: boolean;
          is_public: boolean;
          merged_into_id: string | null;
          moderation_state: string;
          organization_id: string;
          source: string | null;
          status: string;
          title: string;
          tracker_issue_url: string | null;
          type: string;
          updated_at: string;
          vote_count: number;
        };
        ComputedFields: never;
        Insert: {
          author_id?: string;
          category_id?: string | null;
          comment_count?: number;
          created_at?: string;
          description: string;
          id?: string;
          is_changed_by_author?: boolean;
          is_public?: boolean;
          merged_into_id?: string | null;
          moderation_state?: string;
          organization_id?: string;
          source?: string | null;
          status?: string;
          title: string;
          tracker_issue_url?: string | null;
          type: string;
          updated_at?: string;
          vote_count?: number;
        };
        Update: {
          author_id?: string;
          category_id?: string | null;
          comment_count?: number;
          created_at?: string;
          description?: string;
          id?: string;
          is_changed_by_author?: boolean;
          is_public?: boolean;
          merged_into_id?: string | null;
          moderation_state?: string;
          organization_id?: string;
          source?: string | null;
          status?: string;
          title?: string;
          tracker_issue_url?: string | null;
          type?: string;
          updated_at?: string;
          vote_count?: number;
        };
        Relationships: [
          {
            foreignKeyName: "submissions_author_id_fkey";
            columns: ["author_id"];
            isOneToOne: false;
            referencedRelation: "profiles";
            referencedColumns: ["id"];
          },
          {
            foreignKeyName: "submissions_category_is_of_the_same_organization";
            columns: ["organization_id", "category_id"];
            isOneToOne: false;
            referencedRelation: "categories";
            referencedColumns: ["organization_id", "id"];
          },
          {
            foreignKeyName: "submissions_merge_target_is_of_the_same_organization";
            columns: ["organization_id", "merged_into_id"];
            isOneToOne: false;
            referencedRelation: "submissions";
            referencedColumns: ["organization_id", "id"];
          },
          {
            foreignKeyName: "submissions_organization_id_fkey";
            columns: ["organization_id"];
            isOneToOne: false;
            referencedRelation: "organizations";
            referencedColumns: ["id"];
          },
        ];
      };
      survey_options: {
        Row: {
          id: string;
          organization_id: string;
          position: number;
          question_id: string;
          survey_id: string;
          text: string;
        };
        ComputedFields: never;
        Insert: {
          id?: string;
          organization_id?: string;
          position: number;
          question_id: string;
          survey_id: string;
          text: string;
        };
        Update: {
          id?: string;
          organization_id?: string;
          position?: number;
          question_id?: string;
          survey_id?: string;
          text?: string;
        };
        Relationships: [
          {
            foreignKeyName: "survey_options_question_is_of_the_same_survey";
            columns: ["organization_id", "survey_id", "question_id"];
            isOneToOne: false;
            referencedRelation: "survey_questions";
            referencedColumns: ["organization_id", "survey_id", "id"];
          },
          {
            foreignKeyName: "survey_options_survey_is_of_the_same_organization";
            columns: ["organization_id", "survey_id"];
            isOneToOne: false;
            referencedRelation: "survey_question_results";
            referencedColumns: ["organization_id", "survey_id"];
          },
          {
            foreignKeyName: "survey_options_survey_is_of_the_same_organization";
            columns: ["organization_id", "survey_id"];
            isOneToOne: false;
            referencedRelation: "survey_results";
            referencedColumns: ["organization_id", "survey_id"];
          },
          {
            foreignKeyName: "survey_options_survey_is_of_the_same_organization";
            columns: ["organization_id", "survey_id"];
            isOneToOne: false;
            referencedRelation: "surveys";
            referencedColumns: ["organization_id", "id"];
          },
        ];
      };
      survey_questions: {
        Row: {
          id: string;
          multiple: boolean;
          organization_id: string;
          position: number;
          required: boolean;
          scale: number | null;
          survey_id: string;
          text: string;
          type: string;
        };
        ComputedFields: never;
        Insert: {
          id?: string;
          multiple?: boolean;
          organization_id?: string;
          position: number;
          required?: boolean;
          scale?: number | null;
          survey_id: string;
          text: string;
          type: string;
        };
        Update: {
          id?: string;
          multiple?: boolean;
          organization_id?: string;
          position?: number;
          required?: boolean;
          scale?: number | null;
          survey_id?: string;
          text?: string;
          type?: string;
        };
        Relationships: [
          {
            foreignKeyName: "survey_questions_survey_is_of_the_same_organization";
            columns: ["organization_id", "survey_id"];
            isOneToOne: false;
            referencedRelation: "survey_question_results";
            referencedColumns: ["organization_id", "survey_id"];
          },
          {
            foreignKeyName: "survey_questions_survey_is_of_the_same_organization";
            columns: ["organization_id", "survey_id"];
            isOneToOne: false;
            referencedRelation: "survey_results";
            referencedColumns: ["organization_id", "survey_id"];
          },
          {
            foreignKeyName: "survey_questions_survey_is_of_the_same_organization";
            columns: ["organization_id", "survey_id"];
            isOneToOne: false;
            referencedRelation: "surveys";
            referencedColumns: ["organization_id", "id"];
          },
        ];
      };
      survey_responses: {
        Row: {
          answers: NonNullable<Json>;
          id: string;
          is_only: boolean;
          locale: string | null;
          organization_id: string;
          sentiment: string | null;
          sentiment_engine: string | null;
          sentiment_score: number | null;
          started_at: string | null;
          submitted_at: string;
          survey_id: string;
          user_id: string | null;
        };
        ComputedFields: never;
        Insert: {
          answers: NonNullable<Json>;
          id?: string;
          is_only?: boolean;
          locale?: string | null;
          organization_id?: string;
          sentiment?: never;
          sentiment_engine?: string | null;
          sentiment_score?: number | null;
          started_at?: string | null;
          submitted_at?: string;
          survey_id: string;
          user_id?: string | null;
        };
        Update: {
          answers?: NonNullable<Json>;
          id?: string;
          is_only?: boolean;
          locale?: string | null;
          organization_id?: string;
          sentiment?: never;
          sentiment_engine?: string | null;
          sentiment_score?: number | null;
          started_at?: string | null;
          submitted_at?: string;
          survey_id?: string;
          user_id?: string | null;
        };
        Relationships: [
          {
            foreignKeyName: "survey_responses_survey_is_of_the_same_organization";
            columns: ["organization_id", "survey_id"];
            isOneToOne: false;
            referencedRelation: "survey_question_results";
            referencedColumns: ["organization_id", "survey_id"];
          },
          {
            foreignKeyName: "survey_responses_survey_is_of_the_same_organization";
            columns: ["organization_id", "survey_id"];
            isOneToOne: false;
            referencedRelation: "survey_results";
            referencedColumns: ["organization_id", "survey_id"];
          },
          {
            foreignKeyName: "survey_responses_survey_is_of_the_same_organization";
            columns: ["organization_id", "survey_id"];
            isOneToOne: false;
            referencedRelation: "surveys";
            referencedColumns: ["organization_id", "id"];
          },
          {
            foreignKeyName: "survey_responses_user_id_fkey";
            columns: ["user_id"];
            isOneToOne: false;
            referencedRelation: "profiles";
            referencedColumns: ["id"];
          },
        ];
      };
      surveys: {
        Row: {
          allow_multiple_responses: boolean;
          audience: string;
          audience_submission_id: string | null;
          closed_at: string | null;
          closes_at: string | null;
          created_at: string;
          description: string;
          family_id: string;
          id: string;
          locales: string[] | null;
          organization_id: string;
          published_at: string | null;
          redirect_url: string | null;
          show_branding: boolean;
          status: string;
          title: string;
          updated_at: string;
          version_of: string | null;
        };
        ComputedFields: never;
        Insert: {
          allow_multiple_responses?: boolean;
          audience?: string;
          audience_submission_id?: string | null;
          closed_at?: string | null;
          closes_at?: string | null;
          created_at?: string;
          description?: string;
          family_id: string;
          id?: string;
          locales?: string[] | null;
          organization_id?: string;
          published_at?: string | null;
          redirect_url?: string | null;
          show_branding?: boolean;
          status?: string;
          title: string;
          updated_at?: string;
          version_of?: string | null;
        };
        Update: {
          allow_multiple_responses?: boolean;
          audience?: string;
          audience_submission_id?: string | null;
          closed_at?: string | null;
          closes_at?: string | null;
          created_at?: string;
          description?: string;
          family_id?: string;
          id?: string;
          locales?: string[] | null;
          organization_id?: string;
          published_at?: string | null;
          redirect_url?: string | null;
          show_branding?: boolean;
          status?: string;
          title?: string;
          updated_at?: string;
          version_of?: string | null;
        };
        Relationships: [
          {
            foreignKeyName: "surveys_audience_submission_is_of_the_same_organization";
            columns: ["organization_id", "audience_submission_id"];
            isOneToOne: false;
            referencedRelation: "submissions";
            referencedColumns: ["organization_id", "id"];
          },
          {
            foreignKeyName: "surveys_organization_id_fkey";
            columns: ["organization_id"];
            isOneToOne: false;
            referencedRelation: "organizations";
            referencedColumns: ["id"];
          },
          {
            foreignKeyName: "surveys_version_of_is_of_the_same_organization";
            columns: ["organization_id", "version_of"];
            isOneToOne: false;
            referencedRelation: "survey_question_results";
            referencedColumns: ["organization_id", "survey_id"];
          },
          {
            foreignKeyName: "surveys_version_of_is_of_the_same_organization";
            columns: ["organization_id", "version_of"];
            isOneToOne: false;
            referencedRelation: "survey_results";
            referencedColumns: ["organization_id", "survey_id"];
          },
          {
            foreignKeyName: "surveys_version_of_is_of_the_same_organization";
            columns: ["organization_id", "version_of"];
            isOneToOne: false;
            referencedRelation: "surveys";
            referencedColumns: ["organization_id", "id"];
          },
        ];
      };
      tags: {
        Row: {
          color: string;
          created_at: string;
          id: string;
          name: string;
          organization_id: string;
          slug: string;
          translations: NonNullable<Json>;
        };
        ComputedFields: never;
        Insert: {
          color?: string;
          created_at?: string;
          id?: string;
          name: string;
          organization_id: string;
          slug: string;
          translations?: NonNullable<Json>;
        };
        Update: {
          color?: string;
          created_at?: string;
          id?: string;
          name?: string;
          organization_id?: string;
          slug?: string;
          translations?: NonNullable<Json>;
        };
        Relationships: [
          {
            foreignKeyName: "tags_organization_id_fkey";
            columns: ["organization_id"];
            isOneToOne: false;
            referencedRelation: "organizations";
            referencedColumns: ["id"];
          },
        ];
      };
      votes: {
        Row: {
          created_at: string;
          id: string;
          merged_from: string | null;
          organization_id: string;
          submission_id: string;
          user_id: string;
        };
        ComputedFields: never;
        Insert: {
          created_at?: string;
          id?: string;
          merged_from?: string | null;
          organization_id?: string;
          submission_id: string;
          user_id?: string;
        };
        Update: {
          created_at?: string;
          id?: string;
          merged_from?: string | null;
          organization_id?: string;
          submission_id?: string;
          user_id?: string;
        };
        Relationships: [
          {
            foreignKeyName: "votes_submission_is_of_the_same_organization";
            columns: ["organization_id", "submission_id"];
            isOneToOne: false;
            referencedRelation: "submissions";
            referencedColumns: ["organization_id", "id"];
          },
          {
            foreignKeyName: "votes_user_id_fkey";
            columns: ["user_id"];
            isOneToOne: false;
            referencedRelation: "profiles";
            referencedColumns: ["id"];
          },
        ];
      };
    };
    Views: {
      survey_answers: {
        Row: {
          organization_id: string;
          question_id: string;
          response_id: string;
          submitted_at: string;
          survey_id: string;
          type: string;
          value: Json | null;
        };
        ComputedFields: never;
        Relationships: [
          {
            foreignKeyName: "survey_responses_survey_is_of_the_same_organization";
            columns: ["organization_id", "survey_id"];
            isOneToOne: false;
            referencedRelation: "survey_question_results";
            referencedColumns: ["organization_id", "survey_id"];
          },
          {
            foreignKeyName: "survey_responses_survey_is_of_the_same_organization";
            columns: ["organization_id", "survey_id"];
            isOneToOne: false;
            referencedRelation: "survey_results";
            referencedColumns: ["organization_id", "survey_id"];
          },
          {
            foreignKeyName: "survey_responses_survey_is_of_the_same_organization";
            columns: ["organization_id", "survey_id"];
            isOneToOne: false;
            referencedRelation: "surveys";
            referencedColumns: ["organization_id", "id"];
          },
        ];
      };
      survey_question_results: {
        Row: {
          organization_id: string;
          question_id: string | null;
          question_position: number | null;
          question_text: string | null;
          survey_id: string;
          total: number | null;
          type: string | null;
          value: string | null;
          value_position: number | null;
        };
        ComputedFields: never;
        Relationships: [
          {
            foreignKeyName: "surveys_organization_id_fkey";
            columns: ["organization_id"];
            isOneToOne: false;
            referencedRelation: "organizations";
            referencedColumns: ["id"];
          },
        ];
      };
      survey_results: {
        Row: {
          avg_completion_time: number | null;
          completion_rate: number | null;
          negative_count: number | null;
          neutral_count: number | null;
          nps_count: number | null;
          nps_score: number | null;
          organization_id: string;
          positive_count: number | null;
          response_count: number | null;
          scored_count: number | null;
          sentiment_overall: number | null;
          start_count: number | null;
          survey_id: string;
          timed_count: number | null;
        };
        ComputedFields: never;
        Relationships: [
          {
            foreignKeyName: "surveys_organization_id_fkey";
            columns: ["organization_id"];
            isOneToOne: false;
            referencedRelation: "organizations";
            referencedColumns: ["id"];
          },
        ];
      };
    };
    Functions: {
      create_comment: { Args: { body: string; parent_id?: string; submission_id: string }; Returns: string };
      create_submission: {
        Args: { category_id?: string; description: string; organization_id?: string; title: string; type: string };
        Returns: string;
      };
      delete_comment: { Args: { id: string }; Returns: boolean };
      delete_submission: { Args: { id: string }; Returns: boolean };
      follow: { Args: { submission_id: string }; Returns: boolean };
      mark_notifications_read: { Args: { ids?: string[] }; Returns: number };
      my_votes: { Args: { submission_ids: string[] }; Returns: { submission_id: string; voted_at: string }[] };
      search_submissions: {
        Args: { max_results?: number; organization_id: string; q: string };
        Returns: {
          comment_count: number;
          created_at: string;
          description: string;
          id: string;
          match: string;
          relevance: number;
          status: string;
          title: string;
          type: string;
          vote_count: number;
        }[];
      };
      start_survey: { Args: { survey_id: string }; Returns: string };
      submit_survey_response: { Args: { answers: Json; locale?: string; survey_id: string }; Returns: string };
      unfollow: { Args: { submission_id: string }; Returns: boolean };
      unvote: { Args: { submission_id: string }; Returns: boolean };
      unvote_comment: { Args: { comment_id: string }; Returns: boolean };
      update_comment: { Args: { body: string; id: string }; Returns: boolean };
      update_profile: { Args: { changes: Json }; Returns: boolean };
      update_submission: { Args: { changes: Json; id: string }; Returns: boolean };
      vote: { Args: { submission_id: string }; Returns: boolean };
      vote_comment: { Args: { comment_id: string }; Returns: boolean };
    };
    Enums: {
      [_ in never]: never;
    };
    CompositeTypes: {
      [_ in never]: never;
    };
  };
};

type DatabaseWithoutInternals = Omit<Database, "__InternalSupabase">;

type DefaultSchema = DatabaseWithoutInternals[Extract<keyof Database, "public">];

export type Tables<
  DefaultSchemaTableNameOrOptions extends
    | keyof (DefaultSchema["Tables"] & DefaultSchema["Views"])
    | { schema: keyof DatabaseWithoutInternals },
  TableName extends DefaultSchemaTableNameOrOptions extends { schema: keyof DatabaseWithoutInternals }
    ? keyof (DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Tables"] &
        DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Views"])
    : never = never,
> = DefaultSchemaTableNameOrOptions extends { schema: keyof DatabaseWithoutInternals }
  ? (DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Tables"] &
      DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Views"])[TableName] extends { Row: infer R }
    ? R
    : never
  : DefaultSchemaTableNameOrOptions extends keyof (DefaultSchema["Tables"] & DefaultSchema["Views"])
    ? (DefaultSchema["Tables"] & DefaultSchema["Views"])[DefaultSchemaTableNameOrOptions] extends { Row: infer R }
      ? R
      : never
    : never;

export type TablesInsert<
  DefaultSchemaTableNameOrOptions extends keyof DefaultSchema["Tables"] | { schema: keyof DatabaseWithoutInternals },
  TableName extends DefaultSchemaTableNameOrOptions extends { schema: keyof DatabaseWithoutInternals }
    ? keyof DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Tables"]
    : never = never,
> = DefaultSchemaTableNameOrOptions extends { schema: keyof DatabaseWithoutInternals }
  ? DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Tables"][TableName] extends { Insert: infer I }
    ? I
    : never
  : DefaultSchemaTableNameOrOptions extends keyof DefaultSchema["Tables"]
    ? DefaultSchema["Tables"][DefaultSchemaTableNameOrOptions] extends { Insert: infer I }
      ? I
      : never
    : never;

export type TablesUpdate<
  DefaultSchemaTableNameOrOptions extends keyof DefaultSchema["Tables"] | { schema: keyof DatabaseWithoutInternals },
  TableName extends DefaultSchemaTableNameOrOptions extends { schema: keyof DatabaseWithoutInternals }
    ? keyof DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Tables"]
    : never = never,
> = DefaultSchemaTableNameOrOptions extends { schema: keyof DatabaseWithoutInternals }
  ? DatabaseWithoutInternals[DefaultSchemaTableNameOrOptions["schema"]]["Tables"][TableName] extends { Update: infer U }
    ? U
    : never
  : DefaultSchemaTableNameOrOptions extends keyof DefaultSchema["Tables"]
    ? DefaultSchema["Tables"][DefaultSchemaTableNameOrOptions] extends { Update: infer U }
      ? U
      : never
    : never;

export type Enums<
  DefaultSchemaEnumNameOrOptions extends keyof DefaultSchema["Enums"] | { schema: keyof DatabaseWithoutInternals },
  EnumName extends DefaultSchemaEnumNameOrOptions extends { schema: keyof DatabaseWithoutInternals }
    ? keyof DatabaseWithoutInternals[DefaultSchemaEnumNameOrOptions["schema"]]["Enums"]
    : never = never,
> = DefaultSchemaEnumNameOrOptions extends { schema: keyof DatabaseWithoutInternals }
  ? DatabaseWithoutInternals[DefaultSchemaEnumNameOrOptions["schema"]]["Enums"][EnumName]
  : DefaultSchemaEnumNameOrOptions extends keyof DefaultSchema["Enums"]
    ? DefaultSchema["Enums"][DefaultSchemaEnumNameOrOptions]
    : never;

export type CompositeTypes<
  PublicCompositeTypeNameOrOptions extends
    | keyof DefaultSchema["CompositeTypes"]
    | { schema: keyof DatabaseWithoutInternals },
  CompositeTypeName extends PublicCompositeTypeNameOrOptions extends { schema: keyof DatabaseWithoutInternals }
    ? keyof DatabaseWithoutInternals[PublicCompositeTypeNameOrOptions["schema"]]["CompositeTypes"]
    : never = never,
> = PublicCompositeTypeNameOrOptions extends { schema: keyof DatabaseWithoutInternals }
  ? DatabaseWithoutInternals[PublicCompositeTypeNameOrOptions["schema"]]["CompositeTypes"][CompositeTypeName]
  : PublicCompositeTypeNameOrOptions extends keyof DefaultSchema["CompositeTypes"]
    ? DefaultSchema["CompositeTypes"][PublicCompositeTypeNameOrOptions]
    : never;

export const Constants = { public: { Enums: {} } } as const;
