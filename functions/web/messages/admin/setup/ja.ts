import type { SetupMessages } from "./en.ts";

export const ja: SetupMessages = {
  title: "このインストールを設定",
  intro: "最初の組織とその所有者のアカウントを作成します。",
  token: "セットアップトークン",
  tokenHint: "npm start が表示します。サーバーでは SETUP_TOKEN の値です。",
  tokenWrong: "このインストールのトークンではありません。",
  owner: "あなたのアカウント",
  signedInAs: (name: string) => `${name} としてサインインしています。あなたが所有者になります。`,
  organization: "組織",
  name: "組織の名前",
  slug: "アドレスに使う短い名前",
  slugHint: "小文字、数字、ハイフン（例: acme）。",
  visibility: "ボードを見られる人",
  visibilities: { public: "全員", private: "チームのみ" },
  submit: "組織を作成",
  welcome: "ボードの準備ができました",
  welcomeText: "次に行うこと:",
  steps: {
    board: "ボードを見る",
    general: "名前、タイムゾーン、承認を設定する",
    apiKeys: "バックエンド用の API キーを作成する",
    people: "チームを招待する",
    surveys: "アンケートで尋ねる",
    import: "ほかの場所からフィードバックを取り込む",
  },
};
