/** Messages between the loader in a host page and the embedded page in its frame. Each side checks the other's origin. */

/** Texts of the loader, in the language of the frame. */
export type WidgetWords = {
  open: string;
  close: string;
  board: string;
  roadmap: string;
  news: string;
  answer: string;
  later: string;
};

export type WidgetColors = { light: string; dark: string; onLight: string; onDark: string };

export type FromFrame =
  /** The page has loaded. The message contains no data, because the frame does not know the host's origin yet. */
  | { type: "hello" }
  | {
      type: "state";
      /** Profile id of the signed-in person. */
      viewer: string | null;
      /** Section of the page in the frame. */
      section: string | null;
      words: WidgetWords;
      colors: WidgetColors | null;
      /** Number of unread news. Only the news page counts them. */
      unread?: number;
      /** A survey that the person may answer. */
      survey?: { id: string; title: string } | null;
      /** The form that the person has just sent. */
      did?: "submission" | "survey";
    }
  /** The current number of unread news, which the frame polls. */
  | { type: "unread"; count: number }
  | { type: "refused"; message: string; code?: "NO_COOKIE" }
  | { type: "logged-out" }
  | { type: "close" };

export type ToFrame =
  | { type: "welcome"; isShown: boolean }
  /** Without a theme, the system's theme applies. */
  | { type: "shown"; theme?: "light" | "dark" | undefined }
  | { type: "hidden" }
  | { type: "identify"; token: string }
  | { type: "logout" }
  | { type: "snooze"; survey: string; days: number };

/** Identifies messages of the widget among the messages of other scripts. */
export const protocol = "feedback-widget-1";
