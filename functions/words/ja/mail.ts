import type { MailTexts } from "../en/mail.ts";
import { counter } from "../plural.ts";

const count = counter("ja");

export const mail: MailTexts = {
  mail: {
    newStatus: (status) => `新しいステータス：${status}`,
    replyBy: (name) => `${name} さんがあなたのコメントに返信しました`,
    submittedBy: (name) => `${name} さんの投稿`,
    open: "投稿を開く",
    openBoard: "ボードを開く",
    digest: (organization) => `${organization} の新着`,
    digestText: count({ other: "フォロー中の投稿に新着が # 件あります" }),
    team: (organization) => `${organization} への新しいフィードバック`,
    teamText: count({ other: "新しい投稿 # 件" }),
    more: count({ other: "ほかに # 件がボードにあります。" }),
    why: (organization) =>
      `${organization} のフィードバックに参加しているため、このメールをお送りしています。`,
    whyTeam: (organization) => `${organization} のチームのメンバーであるため、このメールをお送りしています。`,
    whyAuthor: (organization) =>
      `${organization} が、あなたのフィードバックとともにメールアドレスを登録しました。すべてのメールをワンクリックで停止できます。`,
    invite: (organization) => `${organization} のチームへの招待`,
    invites: (name, organization) => `${name} さんが ${organization} のチームに招待しています`,
    inviteUntil: (day) =>
      `このメールアドレスでログインするか、アカウントを作成してください。招待の有効期限は ${day} です。`,
    whyInvite: (organization) =>
      `${organization} のチームがあなたを招待するために、このメールアドレスを入力しました。心当たりがない場合は、何もする必要はありません。`,
    refuseText: (organization) =>
      `${organization} は、招待を含め、このメールアドレスに何も送らなくなります。`,
    unsubscribe: "この種類のメールを停止する",
    mute: "この投稿についてのメールを停止する",
    choose: "受け取るメールを選ぶ",
    chooseOrStop: "受け取るメールを選ぶ、またはすべて停止する",
    title: "メール",
    intro: (organization) => `${organization} から届くメールの設定です。`,
    disabled: (organization) =>
      `${organization} は現在メールを送信していません。送信が始まると、ここでの設定が使われます。`,
    otherComments: "フォロー中の投稿へのその他のコメント",
    teamSummary: "新しいフィードバックのまとめ",
    choices: { at_once: "すぐに", daily: "毎日", weekly: "毎週", never: "受け取らない" },
    stop: (organization) => `${organization} からのメールをすべて停止する`,
    stopped: (organization) => `${organization} からのメールは停止されています。`,
    bounced:
      "メールサーバーに受信を拒否されたため、メールを送信していません。状況が変わった場合はチームにお知らせください。",
    resume: "メールの受信を再開する",
    muted: "メールを停止した投稿",
    unmute: "メールの受信を再開する",
    muteThis: "この投稿についてのメールを停止しますか？",
    unsubscribeTitle: "この種類のメールを停止しますか？",
    unsubscribeText: (kind, organization) => `${organization} から届くメール：${kind}`,
    digests: "まとめ",
    unsubscribeNow: "停止する",
    accountsText:
      "どなたかがここであなたのアドレスを入力しました。そのアドレスで作成されたアカウントを削除し、ほかの人があなたのアドレスで作るアカウントについてのメールを90日間停止します。ご自身のアカウントには影響しません。",
    accountsStopped:
      "完了しました。ほかの人があなたのアドレスで作るアカウントについてのメールは届きません。ご自身でアカウントを作成する場合は、先にメールの受信を再開してください。",
    unsubscribed: "この種類のメールを停止しました。",
    newSurvey: (organization) => `${organization} からアンケートのお願い`,
    surveyReminder: (organization) => `${organization} へのご回答をお待ちしています`,
    answerSurvey: "アンケートに答える",
    surveys: "アンケート",
    claim: "アカウントをお持ちですか？このフィードバックを引き継げます",
  },
  authMail: {
    code: "コード：",
    hint: "コードを求められた画面で入力するか、ボタンを使ってください。どちらも短時間のうちに一度だけ使えます。",
    hintCode: "コードを求められた画面で入力してください。短時間のうちに一度だけ使えます。",
    ignore: "お心当たりがない場合は、何もしないでください。コードもボタンも使わなければ何も変わりません。",
    why: "アカウントの安全に関わるため、このメールをお送りしています。",
    stop: "心当たりがないので、このようなメールを停止する",
    undo: "変更を取り消す",
    undoHint: (site) =>
      `お心当たりがない場合は、変更を取り消してください。1週間以内であれば、このリンクからすべての端末をログアウトし、新しいパスワードを設定できます。${site} の運営者にもお知らせください。`,
    notYou: (site) =>
      `お心当たりがない場合は、すぐに新しいパスワードを設定し、${site} の運営者にお知らせください。`,
    names: { totp: "認証アプリ", phone: "電話", webauthn: "パスキー", email: "メール" },
    signup: {
      subject: "メールアドレスの確認",
      text: "このメールアドレスでアカウントを使う手続きがありました。ご自身で行った場合は、アドレスを確認してください。",
      act: "アドレスを確認する",
    },
    magiclink: {
      subject: "ログイン",
      text: "このメールアドレスでのログインが求められました。",
      act: "ログインする",
    },
    recovery: {
      subject: "新しいパスワードの設定",
      text: "このメールアドレスの新しいパスワードの設定が求められました。",
      act: "新しいパスワードを設定する",
    },
    email_change: {
      subject: "新しいメールアドレスの確認",
      text: "アカウントの新しいメールアドレスとして、このアドレスが指定されました。ご自身で行った場合は、アドレスを確認してください。",
      act: "アドレスを確認する",
    },
    email_change_current: {
      subject: "メールアドレス変更の確認",
      text: "アカウントのメールアドレスを変更する手続きがありました。両方のアドレスで確認が済むと変更され、その後のコードやメールは新しいアドレスにだけ届きます。",
      act: "変更を確認する",
    },
    invite: {
      subject: "招待のお知らせ",
      text: "このメールアドレスのアカウントが作成されました。",
      act: "招待を受ける",
    },
    reauthentication: {
      subject: "ご本人の確認",
      text: "アカウントの重要な設定が変更されようとしています。",
    },
    password_changed_notification: {
      subject: "パスワードが変更されました",
      text: "アカウントのパスワードが新しくなりました。",
    },
    email_changed_notification: {
      subject: "アカウントのメールアドレスが変更されました",
      text: "このメールが届いたアドレスは、アカウントのアドレスではなくなりました。コードやその他のメールは、今後は新しいアドレスに届きます。",
    },
    phone_changed_notification: {
      subject: "電話番号が変更されました",
      text: "アカウントの電話番号が新しくなりました。",
    },
    identity_linked_notification: {
      subject: "ログイン方法が追加されました",
      text: "アカウントに新しいログイン方法が追加されました。",
    },
    identity_unlinked_notification: {
      subject: "ログイン方法が削除されました",
      text: "この方法ではアカウントにログインできなくなりました。",
    },
    mfa_factor_enrolled_notification: {
      subject: "2つ目の認証要素が追加されました",
      text: "アカウントにログインするときの手順が一つ増えました。",
    },
    mfa_factor_unenrolled_notification: {
      subject: "2つ目の認証要素が削除されました",
      text: "アカウントにログインするとき、この認証要素は求められなくなりました。",
    },
  },
};
