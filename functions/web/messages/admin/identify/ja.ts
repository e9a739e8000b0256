import type { IdentifyMessages } from "./en.ts";

export const ja: IdentifyMessages = {
  title: "ユーザーの識別",
  text: "自社のアプリケーションにサインインしている人は、ここにアカウントがなくても参加できます。バックエンドがユーザーについてのトークンに署名し、そのトークンがセッションになります。",
  secrets: "署名シークレット",
  secretsText:
    "最大2つです。一方が有効な間に、もう一方を置き換えられます。サーバーに保管し、ページやアプリには決して入れないでください。",
  create: "署名シークレットを作成",
  secret: "署名シークレット",
  secretGone:
    "作成時に表示され、再表示はされません。コピーしていない場合は、削除して別のものを作成してください。",
  created: "作成日",
  lastUse: "最終使用",
  unused: "まだ使用されていません",
  actions: "操作",
  empty: "署名シークレットはまだありません。",
  remove: "削除",
  removeTitle: "署名シークレットを削除",
  removeText: (x: string) => `末尾が ${x} のシークレットは完全に削除されます。`,
  removeSessions: "これでサインインしたすべての人のセッション",
  removeTokens: "バックエンドがこれで署名するトークン",
  test: "トークンをテスト",
  token: "トークン",
  tokenHint: "バックエンドが署名したトークン。使用済みにはならず、誰もサインインしません。",
  check: "確認",
  valid: "トークンは有効です。",
  signedWith: (x: string) => `末尾が ${x} のシークレットで署名されています。`,
  claims: "トークンの内容",
  examples: "署名の例",
  examplesText: (x: string) =>
    `シークレットを FEEDBACK_SIGNING_SECRET に設定します。対象（aud）は ${x} です。`,
  reasons: {
    malformed: "JSON Web Token ではありません。ピリオドで結ばれた3つの部分が必要です。",
    algorithm: "HS256 で署名する必要があります。",
    audience: "aud はこの組織の ID またはスラッグだけでなければなりません。",
    no_secret: "署名シークレットがまだありません。作成してください。",
    signature:
      "署名が正しくありません。上のシークレットのいずれかで、表示された文字列全体を使って署名してください。",
    claims: "クレームが不足しているか、正しくありません。",
    expired: "期限切れです（exp）。サインインごとに署名してください。",
    issued_in_future: "iat が未来の時刻です。サーバーの時計を合わせてください。",
    not_yet_valid: "nbf が未来の時刻です。",
    lifetime: "exp は iat から1時間以内でなければなりません。",
    jti_missing: "リンクで使うには jti が必要です。",
    replayed: "使用済みです。jti は一度だけ有効です。",
    address_taken: "別の人（sub）がこのアドレスを使用しています。",
    private_board: "ボードは非公開です。チームだけがサインインできます。",
  },
  done: {
    removed: "署名シークレットを削除しました。",
  },
};
