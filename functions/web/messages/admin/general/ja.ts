import type { GeneralMessages } from "./en.ts";

export const ja: GeneralMessages = {
  title: "一般",
  board: "ボード",
  name: "名前",
  slug: "スラッグ",
  slugHint: "アドレスに使う名前です（例: /o/my-board）。変更すると、古い名前のリンクは使えなくなります。",
  visibility: "公開範囲",
  visibilityHint: "ボードを非公開にすると、チーム以外の人はすぐにアクセスできなくなります。",
  visibilities: {
    public: "公開: 誰でも読めます",
    private: "非公開: チームだけが見られます",
  },
  indexing: "検索エンジンにページの掲載を許可する",
  indexingHint: "公開ボードにのみ適用されます。",
  language: "既定の言語",
  languageHint: "アカウントにもブラウザーにも 8 言語のいずれも設定していない訪問者に表示する言語です。",
  timeZone: "タイムゾーン",
  timeZoneHint: "概要での一日の区切りを決めます。",
  participation: "参加",
  anonymous: "匿名ユーザーができること",
  anonymousHint: "アプリが本人のアカウントなしでログインさせたユーザーです。",
  rights: {
    read: "閲覧",
    vote: "閲覧、投票、フォロー",
    participate: "ほかのユーザーと同じように参加",
  },
  approval: "新しい投稿には承認が必要",
  approvalHint: "チーム以外の人の投稿は、管理者が承認するまで受信箱で待ちます。",
  trustAfter: "この回数の承認後に信頼する",
  trustAfterHint: "その作者の投稿には承認が不要になります。1～1000。空欄なら信頼しません。",
  save: "保存",
  done: {
    saved: "設定を保存しました。",
  },
};
