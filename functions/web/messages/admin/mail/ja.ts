import type { MailSettingsMessages } from "./en.ts";

export const ja: MailSettingsMessages = {
  title: "メール",
  text: "各自が別に選ばない限り、メールで届くもの。設定の「メール」や各メールのリンクから、各自が選べます。",
  enabled: "ここでの出来事をメールで知らせる",
  enabledHint: "何を受け取るかは各自が選び、停止もできます。",
  usedUp: "今日の未確認アドレスへのメールは上限に達しました。残りは次のまとめで送られます。",
  kinds: {
    status: "投稿またはフォローしたもののステータス変更",
    official: "公式の回答",
    reply: "自分のコメントへの返信",
    comment: "フォロー中のものへのその他のコメント",
    survey: "チームが回答を依頼するアンケート",
    team: "チーム向け：新しい投稿",
  },
  save: "保存",
  stopped: "メールを受け取らない人",
  stoppedText:
    "新しい順に最大 1,000 件。アドレスはハッシュとしてのみ保存されます。完全なアドレスで検索してください。",
  email: "メールアドレス",
  find: "検索",
  name: "名前",
  noAccount: "アカウントなし",
  reason: "理由",
  reasons: {
    refused: "本人が停止",
    bounced: "メールサーバーが拒否",
    complained: "迷惑メールとして報告",
  },
  since: "開始",
  nobody: "いません。",
  notStopped: "この組織はこのアドレスへのメールを停止していません。",
  lift: "送信を再開",
  liftHint:
    "再び使えるようになったメールボックスのみ。自分で停止した人は、自分で変更します。アカウントのないアドレスは、先に検索してください。",
  done: {
    saved: "設定を保存しました。",
    lifted: "送信を再開しました。",
  },
};
