import { counter } from "../../plural.ts";
import type { OverviewMessages } from "./en.ts";

const count = counter("ja");

export const ja: OverviewMessages = {
  title: "概要",
  time: "期間",
  days: count({ other: "# 日間" }),
  year: "12 か月",
  otherTime: "期間を指定",
  from: "開始日",
  to: "終了日",
  show: "表示",
  compared: (now: string, before: string) => `${now}（${before} との比較）`,
  totals: {
    submissions: "投稿",
    votes: "投票",
    comments: "コメント",
    active_people: "アクティブな人",
  },
  reply: "最初の公式回答まで",
  replied: count({ other: "投稿 # 件の中央値" }),
  unreplied: "回答された投稿はありません",
  overTime: "推移",
  intervals: {
    day: "日",
    week: "週の初日",
    month: "月の初日",
  },
  movers: "得票の伸び",
  noMovers: "この期間に投票はありませんでした。",
  submission: "投稿",
  status: "ステータス",
  category: "カテゴリー",
  source: "経路",
  votes: "票数",
  gained: "増加",
  byStatus: "ステータス別の投稿",
  byCategory: "カテゴリー別の投稿",
  bySource: "経路別の投稿",
  noCategory: "カテゴリーなし",
  noSource: "このサイト",
};
