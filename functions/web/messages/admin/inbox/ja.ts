import { counter } from "../../plural.ts";
import type { InboxMessages } from "./en.ts";

const count = counter("ja");

export const ja: InboxMessages = {
  title: "受信箱",
  state: "状態",
  states: {
    pending: "承認待ち",
    rejected: "却下",
    spam: "スパム",
  },
  kind: "種類",
  kinds: {
    all: "すべて",
    submission: "投稿",
    comment: "コメント",
  },
  count: count({ other: "# 件" }),
  emptyTitle: "承認待ちはありません",
  emptyText: "承認が必要な新しい投稿とコメントは、ここに自動で表示されます。",
  noneTitle: "ここには何もありません",
  choose: "選択",
  bulk: "すべて選択",
  commentOn: "コメント先：",
  trusted: "信頼済みの投稿者",
  untrusted: "まだ信頼されていません",
  actions: {
    approve: "承認",
    reject: "却下",
    spam: "スパム",
  },
  more: "信頼と理由",
  trust: "今後この投稿者の投稿は承認不要にする（承認時）",
  reason: "理由（監査ログのみ）",
  undo: "元に戻す",
  keysOn: "キーボードショートカット",
  shortcuts: {
    next: "次へ",
    previous: "前へ",
    approve: "承認",
    reject: "却下",
    spam: "スパムにする",
    choose: "選択",
    undo: "元に戻す",
  },
  done: {
    approve: count({ other: "# 件を承認しました。" }),
    reject: count({ other: "# 件を却下しました。" }),
    spam: count({ other: "# 件をスパムにしました。" }),
    reopen: count({ other: "# 件を承認待ちに戻しました。" }),
  },
  changed: count({
    other:
      "#件の文章は、お読みになった後に変更されました。下の現在の文章を読んで、もう一度判断してください。",
  }),
  failed: count({ other: "# 件は処理できませんでした。削除されたか、返信先が承認されていません。" }),
  succeeded: count({ other: "ほかの # 件は処理しました。" }),
  decided: {
    approved: "たった今、ほかの人が承認しました。",
    rejected: "たった今、ほかの人が却下しました。",
    spam: "たった今、ほかの人がスパムにしました。",
    pending: "たった今、ほかの人が承認待ちに戻しました。",
  },
};
