import type { Source } from "../entries.ts";

export const en: Source = {
  values: [
    [
      3,
      `love* adore* amazing* awesome* excellent* outstanding perfect* fantastic* brilliant* superb* incredible incredibly_good
      best_tool best_app game_changer life_saver lifesaver top_notch second_to_none blown_away delight* flawless* exceptional*
      you_rock you_guys_rock rocks a_joy joy a_pleasure pleasure can_t_live_without cannot_live_without couldn_t_live_without
      five_stars 10_out_of_10 10_10 chef_s_kiss can_t_recommend_it_enough can_t_recommend_this_enough cant_recomend* can_t_recommend*_enough
      cant_recommend*_enough cannot_recommend*_enough highly_recommend* exceed*_expectation* exceed*_my_expectation* better_than_expected`,
    ],
    [
      2,
      `good great nice* happy happily pleas*_with pleased glad satisf* enjoy* i_like we_like really_like do_like also_like like_it like_how like_your likes_it they_like liked best recommend* easy easily easier
      simple_to intuitive* effortless* smooth* seamless* fast faster quick quicker quickly snappy reliab* stable solid* useful
      helpful helped helps friendly beautiful* elegant* clean cleaner clear clearer polished convenient* handy powerful efficient*
      improve* improvement* better works_well work_well works_great worked_great works_perfectly just_works just_worked works_fine works_like_a_charm
      sav*_time sav*_me_time save*_us_time sav*_me sav*_us saved_me time_saver well_designed well_thought well_done good_job great_job kudos thank thanks
      thx impress* worth_it worth_every well_worth value_for_money no_complaints can_t_complain cannot_complain nothing_to_complain
      no_regret* at_last finally_a finally_works exactly_what_i_need* exactly_what_we_need* does_exactly_what sorted_it solved_my solved_our
      resolved_quickly life_easier makes_it_easy no_brainer cool neat wonderful* excit* gem winner fun favorite favourite
      not_bad not_too_bad not_bad_at_all never_let*_me_down never_let_us_down keep_it_up keep_up_the_good_work big_fan fan_of won_me_over pleasant* right_away within_minutes
      no_problem* no_issue* no_trouble* without_a_hitch without_any_problem* zero_problem* zero_issue* never_had_a_problem never_had_an_issue never_had_any`,
    ],
    [
      1,
      `fine_for_me decent pretty comfortable modern responsive accurate flexible affordable cheap free thoughtful lightweight
      works_for_me does_what_it_says does_its_job_well interesting promising welcome safe secure trust* support*_us fair`,
    ],
    [
      0,
      `okay ok it_s_ok it_s_okay so_so nothing_special neither_good_nor_bad average mediocre_at_times does_the_job gets_the_job_done it_does_the_job
      good_morning good_evening would_like i_d_like we_d_like looks_like look_like feels_like feel_like things_like
      something_like or_less more_or_less no_more_no_less free_plan free_version free_trial better_off as_fast_as as_good_as how_fast how_easy how_good too_good_to problem_solver
      thanks_in_advance thank_you_in_advance  a_good_deal_of great_deal_of good_and_bad best_regards kind_regards
      no_opinion indifferent no_strong on_the_fence hit_or_miss hit_and_miss error_message error_log bug_report bug_tracker issue_tracker issue_list
      sometimes_works works_sometimes some_days_good ups_and_downs pros_and_cons`,
    ],
    [
      -1,
      `expensive pricey overpriced limited dated old-fashioned clunk* cumbersome lengthy steep inconsistent* laggy lag lags
      lacks lacking lack missing misses unclear complicated complex cluttered crowded noisy unfortunately sadly pity
      hard difficult tedious repetitive too_many too_much too_long too_big too_small too_complicated needs_work could_be_better
      wait waited waiting manually workaround* hidden buried outdated hoops meh`,
    ],
    [
      -2,
      `bad badly poor* slow slower slowly sluggish* bug bugs buggy broken break breaks broke crash* freez* froze frozen hang hangs
      stuck fail fails failed failing failure* error* problem* issue* trouble* annoy* confus* frustrat* irritat* disappoint* dissapoint* useless
      unusable unreliable unstable unhappy not_happy dislike* mess messy worse worsen* wrong wrongly weird glitch* ugly boring
      difficult_to_use hard_to_use hard_to_find impossible can_t_find cannot_find can_t_use cannot_use doesn_t_work does_not_work don_t_work doesnt_work
      didn_t_work not_work* stopped_working stops_working won_t_load wont_load won_t_open won_t_start never_works no_longer_works don_t_like doesn_t_like didn_t_like nobody_answer* nobody_respond* nobody_repl* no_one_answer* no_one_respond* no_one_repl* no_response no_reply no_answer still_nothing
      still_waiting never_answered never_replied never_got_back ignored lost_my los*_work los*_data los*_all los*_hour* los*_everything wiped disappear* gone_missing
      waste_of_time wasted wast*_time waste regret* cancel* unsubscrib* refund* overcharged charged_twice double_charged rip_off ripoff
      went_up_again price_hike no_idea_where lost_in nowhere_near nowhere_to_be_found going_downhill downhill fed_up tired_of sick_of
      gave_up give_up giving_up switched_away switching_away let_down let_me_down not_worth painful* a_pain pain nightmare headache hassle struggl* clumsy too_slow
      too_expensive too_hard unresponsive unacceptable pointless complain* unintuitive counterintuitive cryptic inaccurate duplicate_charge spam spammy
      kicked_me_out logs_me_out logged_me_out signs_me_out rude unhelpful stopped_responding not_responding not_respond* keeps_asking for_no_reason out_of_nowhere`,
    ],
    [
      -3,
      `hate* terrible terribly awful* horrible horribly horrid garbage trash crap* shit* sucks suck worst disaster* dreadful* abysmal
      pathetic atrocious scam fraud furious infuriat* appalling disgust* joke_of ridiculous* a_joke worthless stay_away avoid_at_all
      great_another oh_great just_great wtf never_again`,
    ],
  ],
  negations: `not no never none nobody nothing neither nor cannot without hardly barely rarely scarcely cant dont doesnt didnt isnt wasnt wont wouldnt
    couldnt aint can_t don_t doesn_t didn_t isn_t wasn_t aren_t weren_t won_t wouldn_t couldn_t haven_t hasn_t hadn_t shouldn_t ain_t nowhere less fewer far_from zero`,
  stronger: `very really so extremely super absolutely totally completely highly truly incredibly insanely far_too way_too way far much too
    utterly so_much a_lot always constantly every_time hella damn`,
  weaker:
    "slightly somewhat kinda kind_of sort_of a_bit a_little fairly quite mostly partly occasionally sometimes rather",
  contrasts: "but however although though yet except nevertheless whereas unfortunately",
  wishes: `please would_be would_it could_you can_you could_we i_wish we_wish wish it_would_help i_d_love i_would_love would_love i_d_like we_d_like would_like should_be add
    suggest* suggestion feature_request request is_there is_it_possible how_do_i how_can_i if_you_could if_only hope hoping could_use we_need i_need would_help would_make`,
  reach: { before: 4, behind: 0 },
};
